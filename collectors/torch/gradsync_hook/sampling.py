"""Which places of the gradient are watched: some of every layer, the same on all ranks and in all passes.

    bucket 0   │ layer 7 ........x....x...... │ layer 6 .xx. │      x: places; small layers are watched as a whole
    samples      ─────────────────┴─┴───────────────┴┴──

A sum of squares over a layer is then its samples' sum times elements / samples.
"""
import hashlib

PLACES = 4096      # of the whole model: a cosine to about one per cent
FEWEST = 64        # of a layer that has as many


class Layer:
    __slots__ = ("name", "elements", "samples")

    def __init__(self, name, elements, samples):
        self.name, self.elements, self.samples = name, elements, samples


class Bucket:
    __slots__ = ("elements", "places", "part")   # places: index tensor into the bucket; part: slice of the samples

    def __init__(self, elements, places, first, last):
        self.elements, self.places, self.part = elements, places, slice(first, last)


class Samples:
    """One value for each place. `take` fills in those of a bucket: one call into torch for each, where types agree."""

    __slots__ = ("values", "_parts", "_places", "_elements", "_select", "taken")

    def __init__(self, torch, sampling):
        self.values = torch.zeros(sampling.count, device=sampling.device)
        self._parts = [self.values[bucket.part] for bucket in sampling.buckets]
        self._places = [bucket.places for bucket in sampling.buckets]
        self._elements = [bucket.elements for bucket in sampling.buckets]
        self._select = torch.index_select
        self.taken = 0

    def take(self, index, tensor):
        """ValueError: the bucket has another size than when the places were chosen."""
        flat = tensor if tensor.dim() == 1 else tensor.reshape(-1)
        if flat.numel() != self._elements[index]:
            raise ValueError("a bucket has another size")
        part = self._parts[index]
        if flat.dtype == part.dtype and not flat.requires_grad:
            self._select(flat, 0, self._places[index], out=part)
        else:
            part.copy_(flat.detach().index_select(0, self._places[index]))
        self.taken += 1


class Sampling:
    """Built from what parts() found in one pass. `sizes`: samples of each layer, which follow each other; `weights`: for
    each sample the elements that it stands for."""

    def __init__(self, torch, buckets, device):
        self.layers, self.buckets = [], []
        total = sum(elements for bucket in buckets for _, _, elements in bucket[1]) or 1
        count = 0
        for elements, parts in buckets:
            places = []
            for name, offset, size in parts:
                wanted = min(size, max(FEWEST, PLACES * size // total))
                places.append(offset + _spread(torch, size, wanted))
                self.layers.append(Layer(name, size, wanted))
            here = torch.cat(places).to(device)
            self.buckets.append(Bucket(elements, here, count, count + here.numel()))
            count += here.numel()
        self.count, self.device = count, device
        self.sizes = [layer.samples for layer in self.layers]
        self.weights = torch.cat([torch.full((layer.samples,), layer.elements / layer.samples)
                                  for layer in self.layers]).to(device)
        text = ";".join("%s:%d:%d" % (layer.name, layer.elements, layer.samples) for layer in self.layers)
        text += "|" + ",".join("%d" % bucket.elements for bucket in self.buckets)
        self.digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _spread(torch, size, wanted):
    """One place in each of `wanted` equal stretches, at a fixed pseudo-random position in it."""
    number = torch.arange(wanted, dtype=torch.int64)
    stretch = size // wanted
    return number * stretch + (number * 2654435761 >> 7) % stretch


def parts(bucket, names):
    """(name, offset in the bucket, elements) of its gradients. `names`: id of a parameter → its name."""
    buffer = bucket.buffer()
    start = buffer.storage_offset()
    return [(names.get(id(parameter), "parameter of bucket %d" % bucket.index()), gradient.storage_offset() - start,
             gradient.numel())
            for parameter, gradient in zip(bucket.parameters(), bucket.gradients()) if gradient.numel()]
