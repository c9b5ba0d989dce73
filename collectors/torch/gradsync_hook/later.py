"""Numbers of the device, read when they are there: nothing waits for a stream.

On a CPU they are there at once. On a GPU they are copied into pinned memory, with an event behind the copy that is
asked, in later passes, whether it has happened.
"""
MOST_WAITING = 64


class Later:
    def __init__(self, torch):
        self._torch = torch
        self._waiting = []   # (event, host tensor, then), oldest first
        self.dropped = 0

    def read(self, tensor, then):
        """`then(list of floats)` now, or in a later poll()."""
        flat = tensor.detach().reshape(-1)
        if flat.device.type == "cpu":
            then(flat.tolist())
            return
        if len(self._waiting) >= MOST_WAITING:
            self.dropped += 1
            return
        host = self._torch.empty(flat.shape, dtype=flat.dtype, pin_memory=True)
        host.copy_(flat, non_blocking=True)
        event = self._torch.cuda.Event()
        event.record()
        self._waiting.append((event, host, then))

    def poll(self):
        while self._waiting and self._waiting[0][0].query():
            _, host, then = self._waiting.pop(0)
            then(host.tolist())
