#!/usr/bin/env python3
"""Files that show writes besides its report, read again by whoever they are for; and what it says where it cannot."""
import csv
import gzip
import io
import json
import os
import shutil
import tarfile
import unittest
import xml.etree.ElementTree

import doctor


class ShowFiles(doctor.TestCase):
    def recording(self, name="ddp_topk"):
        with tarfile.open(doctor.ROOT / "tests/samples/recordings" / (name + ".tar.xz")) as archive:
            archive.extractall(self.folder)
        return self.folder / "recording"

    def report_of(self, *arguments):
        done = self.doctor(*arguments, "--json", "-")
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def lonely_report(self):
        """A report whose recording is gone."""
        path = self.folder / "report.json"
        self.assertSays(self.doctor("show", "--json", path, self.recording()), 0)
        report = json.loads(path.read_text())
        report["run"]["recording"] = "nowhere/recording"
        path.write_text(json.dumps(report))
        return path


class Perfetto(ShowFiles):
    def values(self, report, *names):
        return {(m["name"], m["scope"]): m["value"] for m in report["metrics"] if m["name"].startswith(names)}

    def test_our_own_trace_tells_the_same_job(self):
        for name in ("ddp_topk", "ddp_straggler", "native_topk"):
            with self.subTest(name):
                recording, trace = self.recording(name), self.folder / "job.json.gz"
                done = self.doctor("show", "--perfetto", trace, recording)
                self.assertSays(done, 0, "trace of 2 ranks", "joined by arrows")
                self.assertIn("VERDICT", done.stdout)
                told, again = self.report_of("show", recording), self.report_of("analyze", trace)
                self.assertEqual(told["run"]["ranks"], again["run"]["ranks"])
                self.assertEqual(told["run"]["steps"], again["run"]["steps"])
                self.assertEqual(doctor.fired(told), doctor.fired(again))
                names = ("step.", "comm.", "attribution.", "sync.", "straggler.late_ms")
                self.assertEqual(self.values(told, *names), self.values(again, *names))
                self.assertEqual(told["verdict"], again["verdict"])
                shutil.rmtree(recording)

    def test_a_trace_is_json_whose_arrows_meet(self):
        trace = self.folder / "job.json"
        self.assertSays(self.doctor("show", "--perfetto", trace, self.recording()), 0)
        events = json.loads(trace.read_text())["traceEvents"]
        starts = {event["id"] for event in events if event["ph"] == "s"}
        ends = {event["id"] for event in events if event["ph"] == "f"}
        self.assertGreater(len(starts), 50)
        self.assertEqual(starts, ends)

    def test_on_standard_output_it_stands_alone(self):
        done = self.doctor("show", "--perfetto", "-", self.recording())
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("traceEvents", json.loads(done.stdout))

    def test_a_report_of_a_recording_that_is_there(self):
        recording, report = self.recording(), self.folder / "r.json"
        self.doctor("show", "--json", report, recording)
        document = json.loads(report.read_text())
        document["run"]["recording"] = "recording"  # beside the report
        report.write_text(json.dumps(document))
        self.assertSays(self.doctor("show", "--perfetto", self.folder / "t.json", report), 0, "trace of 2 ranks")

    def test_a_report_whose_recording_is_gone(self):
        trace = self.folder / "t.json"
        done = self.doctor("show", "--perfetto", trace, self.lonely_report())
        self.assertSays(done, 3, "its recording nowhere/recording is gone", "show RECORDING --perfetto FILE")
        self.assertIn("VERDICT", done.stdout)
        self.assertFalse(trace.exists())

    def test_places_that_cannot_be_written(self):
        recording = self.recording()
        done = self.doctor("show", "--perfetto", "/nonexistent/t.json", recording)
        self.assertSays(done, 125, "cannot write /nonexistent/t.json", "No such file")
        self.assertEqual("", done.stdout)  # said before the recording is read
        self.assertSays(self.doctor("show", "--perfetto", "/dev/full", recording), 125, "cannot write /dev/full")
        self.assertSays(self.doctor("show", "--perfetto", "-", "--json", "-", recording), 2,
                        "only one output can be standard output")


class Pack(ShowFiles):
    def pack(self, recording=None):
        path = self.folder / "job.tar.gz"
        done = self.doctor("show", "--pack", path, recording or self.recording())
        self.assertSays(done, 0, "job.tar.gz: the recording (", "report.json, report.md", "are masked", "host names")
        return path

    def content(self, pack):
        with tarfile.open(pack) as archive:
            return {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}

    def test_a_pack_is_read_as_the_recording_that_is_in_it(self):
        recording = self.recording()
        told, pack = self.report_of("show", recording), self.pack(recording)
        for command in ("show", "analyze"):
            with self.subTest(command):
                again = self.report_of(command, pack)
                self.assertEqual(str(pack), again["run"]["recording"])
                for report in (told, again):
                    report["run"]["recording"] = ""
                self.assertEqual(told, again)
        whatif = self.report_of("whatif", pack)
        self.assertTrue(any(one["name"] == "whatif" and one["rows"] for one in whatif["series"]))
        self.assertSays(self.doctor("show", "--perfetto", self.folder / "t.json", pack), 0, "trace of 2 ranks")

    def test_what_is_in_it(self):
        content = self.content(self.pack())
        names = {name.split("/", 1)[1] for name in content}
        self.assertLessEqual({"README", "MANIFEST", "report.json", "report.md", "recording/recording.json"}, names)
        for line in content["gradsync-pack/MANIFEST"].decode().splitlines():
            size, name = line.split(" ", 1)
            self.assertEqual(int(size), len(content["gradsync-pack/" + name]), name)
        self.assertEqual(len(names) - 2, len(content["gradsync-pack/MANIFEST"].splitlines()))
        self.assertIn(b"Gradient synchronisation", content["gradsync-pack/report.md"])
        self.assertEqual(0o600, (self.folder / "job.tar.gz").stat().st_mode & 0o777)

    def test_the_same_recording_gives_the_same_bytes(self):
        recording = self.recording()
        first = self.pack(recording).read_bytes()
        self.assertEqual(first, self.pack(recording).read_bytes())

    def test_names_of_users_and_secrets_stay_here(self):
        recording = self.recording()
        head = json.loads((recording / "recording.json").read_text())
        head["run"]["command_line"] = ["/home/alice/venv/bin/python", "train.py", "--api-key", "s3cret one",
                                       "--data", "/scratch/alice/set", "https://bob:pw@host/x"]
        head["facts"]["hook.name"] = "/home/alice/hook.py"
        (recording / "recording.json").write_text(json.dumps(head))
        spool = sorted((recording / "events").iterdir())[0]
        content = bytearray(spool.read_bytes())
        at = content.index(b"/usr/bin/python3 samples/ddp_topk.py")
        content[at:at + 36] = b"/home/alice/p WANDB_API_KEY=s3cret x"
        spool.chmod(0o600)
        spool.write_bytes(content)
        (recording / "notes.txt").write_text("my diary")
        (recording / "hello/link.json").symlink_to("/etc/passwd")
        pack = self.folder / "job.tar.gz"
        done = self.doctor("show", "--pack", pack, recording)
        self.assertSays(done, 0, "2 things in the recording's folder are no part of it")
        everything = self.content(pack)
        for name, bytes_of in everything.items():
            for secret in (b"alice", b"s3cret", b"bob:pw", b"my diary", b"root:"):
                self.assertNotIn(secret, bytes_of, name)
        self.assertIn(b"/home/xxxxx/p WANDB_API_KEY=xxxxxx x", everything["gradsync-pack/recording/events/" + spool.name])
        self.assertIn("/scratch/xxxxx/set", json.loads(everything["gradsync-pack/report.json"])["run"]["command_line"])
        self.assertSays(self.doctor("show", pack), 0)

    def test_the_environment_is_not_in_a_recording(self):
        recording = self.folder / "own"
        self.assertSays(self.doctor("run", "-o", recording, "--", "python3", "-c", "pass", MY_SETTING="s3cret-setting"), 0)
        for path in recording.rglob("*"):
            if path.is_file():
                self.assertNotIn(b"s3cret-setting", path.read_bytes(), path)

    def test_where_none_can_be_made(self):
        done = self.doctor("show", "--pack", self.folder / "p.tar.gz", self.lonely_report())
        self.assertSays(done, 3, "cannot write --pack of", "its recording nowhere/recording is gone", "show RECORDING --pack FILE")
        self.assertEqual([], list(self.folder.glob("p.tar*")))
        self.assertSays(self.doctor("show", "--pack", "p.zip", self.recording()), 2, "p.zip", "does not end in .tar.gz")
        self.assertSays(self.doctor("show", "--pack", "/nonexistent/p.tar.gz", self.recording()), 125, "/nonexistent/p.tar.gz")


class HostilePacks(ShowFiles):
    def write(self, *entries, name="bad.tar.gz", mode="w:gz"):
        """entries: (name, content or type or TarInfo)."""
        path = self.folder / name
        with tarfile.open(path, mode, format=tarfile.USTAR_FORMAT) as archive:
            first = tarfile.TarInfo("gradsync-pack/")
            first.type = tarfile.DIRTYPE
            archive.addfile(first)
            for entry, content in entries:
                info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(entry)
                if isinstance(content, bytes):
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content))
                else:
                    archive.addfile(info)
        return path

    def special(self, name, kind, **more):
        info = tarfile.TarInfo(name)
        info.type = kind
        for key, value in more.items():
            setattr(info, key, value)
        return (name, info)

    def left_over(self):
        return [path.name for path in (self.folder / "tmp").iterdir()]

    def assertRefused(self, pack, *words):
        (self.folder / "tmp").mkdir(exist_ok=True)
        for command in ("show", "analyze", "whatif"):
            with self.subTest(command=command, words=words):
                done = self.doctor(command, pack, TMPDIR=str(self.folder / "tmp"))
                self.assertSays(done, 3, "cannot read the pack", pack.name, "show --pack FILE RECORDING", *words)
                self.assertEqual([], self.left_over())

    def test_each_is_refused_and_leaves_nothing(self):
        inside = "gradsync-pack/recording/x"
        for entries, word in [
                ([self.special(inside, tarfile.SYMTYPE, linkname="/etc/passwd")], "is a symbolic link"),
                ([self.special(inside, tarfile.LNKTYPE, linkname="/etc/passwd")], "is a link to another file"),
                ([self.special(inside, tarfile.CHRTYPE, devmajor=1, devminor=3)], "is a device"),
                ([self.special(inside, tarfile.BLKTYPE)], "is a device"),
                ([self.special(inside, tarfile.FIFOTYPE)], "is a pipe"),
                ([self.special(inside, b"x")], "neither a file nor a folder"),
                ([("../escaped", b"x")], "leads out of its folder"),
                ([("gradsync-pack/../../escaped", b"x")], "leads out of its folder"),
                ([("/tmp/gsd-escaped", b"x")], "leads out of its folder"),
                ([("gradsync-pack/a b", b"x")], "a name or a size that no pack has"),
                ([("gradsync-pack/one", b"x"), ("gradsync-pack/one", b"y")], "is in it twice"),
                ([("gradsync-pack/one", b"x"), ("gradsync-pack/one/two", b"y")], "cannot make the folder"),
                ([("gradsync-pack/report.json", b"{}")], "there is no recording in it")]:
            self.assertRefused(self.write(*entries), word)
        self.assertFalse(os.path.lexists("/tmp/gsd-escaped"))
        self.assertFalse(any(self.folder.rglob("escaped")))

    def test_a_pack_that_is_cut_or_damaged(self):
        whole = self.folder / "job.tar.gz"
        self.assertSays(self.doctor("show", "--pack", whole, self.recording()), 0)
        content = whole.read_bytes()
        cut = self.folder / "cut.tar.gz"
        cut.write_bytes(content[:len(content) // 2])
        self.assertRefused(cut, "its compressed bytes end too early")
        flipped = bytearray(content)
        flipped[-6] ^= 0xff  # the sum over all bytes
        cut.write_bytes(flipped)
        self.assertRefused(cut, "its compressed bytes")
        plain = self.folder / "cut.tar"
        plain.write_bytes(gzip.decompress(content)[:100_000])
        self.assertRefused(plain, "ends")
        cut.write_bytes(gzip.compress(gzip.decompress(content) + b"x" * 70_000))
        self.assertRefused(cut, "more behind its end")

    def test_other_archives_are_no_packs(self):
        other = self.folder / "other.tar.gz"
        with tarfile.open(other, "w:gz") as archive:
            archive.add(__file__, "x")
        self.assertSays(self.doctor("analyze", other), 3, "it is an archive", "unpack it")
        self.assertSays(self.doctor("show", other), 3, "other.tar.gz")

    def test_a_pack_packed_by_hand_is_one(self):
        """Whoever changed a file and called tar again."""
        self.assertSays(self.doctor("show", "--pack", self.folder / "job.tar.gz", self.recording()), 0)
        hand = self.folder / "hand"
        with tarfile.open(self.folder / "job.tar.gz") as archive:
            archive.extractall(hand)
        with tarfile.open(self.folder / "again.tar", "w", format=tarfile.GNU_FORMAT) as archive:
            archive.add(hand / "gradsync-pack", "gradsync-pack")
        self.assertSays(self.doctor("show", self.folder / "again.tar"), 0)


class Documents(ShowFiles):
    def test_junit_has_a_case_for_each_finding(self):
        recording, path = self.recording(), self.folder / "r.xml"
        for severity, failures in ((None, 2), ("error", 0)):
            options = [] if severity is None else ["--fail-on", severity]
            self.assertEqual(0, self.doctor("show", *options, "--junit", path, recording).returncode)
            report = self.report_of("show", recording)
            suites = xml.etree.ElementTree.parse(path).getroot()
            self.assertEqual(len(report["findings"]), len(suites.findall("testsuite/testcase")))
            self.assertEqual(failures, len(suites.findall("testsuite/testcase/failure")))
            unjudged = [finding for finding in report["findings"] if finding["state"] == "could_not_judge"]
            self.assertEqual(len(unjudged), len(suites.findall("testsuite/testcase/skipped")))
        self.assertEqual(10, self.doctor("show", "--fail-on", "warning", "--junit", path, recording).returncode)

    def test_csv_holds_what_the_report_holds(self):
        recording, folder = self.recording(), self.folder / "tables"
        self.assertSays(self.doctor("show", "--csv", folder, recording), 0)
        report = self.report_of("show", recording)

        def rows(name):
            with open(folder / (name + ".csv"), newline="") as file:
                return list(csv.DictReader(file))

        self.assertEqual({"metrics.csv", "findings.csv", "attribution.csv"} | {s["name"] + ".csv" for s in report["series"]},
                         {path.name for path in folder.iterdir()})
        self.assertEqual([(m["name"], m["scope"], m["value"]) for m in report["metrics"]],
                         [(row["name"], row["scope"], float(row["value"])) for row in rows("metrics")])
        self.assertEqual(["\n".join(f["try"]) for f in report["findings"]], [row["try"] for row in rows("findings")])
        steps = next(one for one in report["series"] if one["name"] == "steps")
        self.assertEqual(len(steps["rows"]), len(rows("steps")))
        self.assertSays(self.doctor("show", "--csv", folder, recording), 125, str(folder), "not an empty folder")
        self.assertSays(self.doctor("show", "--csv", "/nonexistent/t", recording), 125, "/nonexistent/t")

    def test_several_at_once_and_on_standard_output(self):
        recording, to = self.recording(), lambda name: self.folder / name
        done = self.doctor("show", "--markdown", to("r.md"), "--junit", to("r.xml"), "--csv", to("csv"), "--perfetto",
                           to("t.json.gz"), "--pack", to("p.tar.gz"), "--json", to("r.json"), recording)
        self.assertSays(done, 0)
        self.assertIn("VERDICT", done.stdout)
        for name in ("r.md", "r.xml", "csv", "t.json.gz", "p.tar.gz", "r.json"):
            self.assertTrue(to(name).exists(), name)
        self.assertEqual(to("r.md").read_text(), self.doctor("show", "--markdown", "-", recording).stdout)
        self.assertEqual(to("r.xml").read_text(), self.doctor("show", "--junit", "-", recording).stdout)
        self.assertSays(self.doctor("show", "--markdown", "-", "--junit", "-", recording), 2, "only one output")

    def test_places_that_cannot_be_written(self):
        for option in ("--markdown", "--junit"):
            with self.subTest(option):
                done = self.doctor("show", option, "/nonexistent/f", self.recording())
                self.assertSays(done, 125, "cannot write /nonexistent/f")
                self.assertSays(self.doctor("show", option, "/dev/full", self.recording()), 125, "cannot write /dev/full")

    def test_from_a_report_whose_recording_is_gone(self):
        report = self.lonely_report()
        done = self.doctor("show", "--markdown", self.folder / "r.md", "--perfetto", self.folder / "t.json", report)
        self.assertSays(done, 3, "recording nowhere/recording is gone", "its other files can be written")
        self.assertIn("### Gradient synchronisation", (self.folder / "r.md").read_text())


if __name__ == "__main__":
    unittest.main()
