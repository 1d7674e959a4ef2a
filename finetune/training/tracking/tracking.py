"""Sends the events of runs to trackers as they come, or those of finished runs from what they left."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from finetune.errors import first_line
from finetune.runs.events import AlreadyDone, Done, Event, Note, Started, Watcher, Working, logged
from finetune.runs.folder import RunFolder
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.without_folders import names_only
from finetune.training.tracking.libraries import Library, TrackedRun, library
from finetune.training.tracking.sender import Sender
from finetune.training.tracking.values import Points, TrackedPoint, final_numbers, settings

END_SECONDS = 5.0  # that trackers have at the end of a run
SEND_SECONDS = 600.0  # that they have for a finished one
LOOK_SECONDS = 0.05


@contextmanager
def tracked(names: Sequence[str], watch: Watcher) -> Iterator[Watcher]:
    """A watcher that passes events on to `watch`, and sends those of a run to these trackers."""
    if not names:
        yield watch
        return
    tracking = Tracking(names, watch)
    try:
        yield tracking
    finally:
        tracking.close(END_SECONDS)


def send_finished(folder: RunFolder, names: Sequence[str]) -> list[str]:
    """Sends a finished run to trackers, from its record and its log of events; returns what went wrong.

    Raises UserError where the record is damaged.
    """
    record, problems = load_record(folder.record_file), list[str]()

    def watch(event: Event) -> None:
        if isinstance(event, Note):
            problems.append(event.text)

    tracking = Tracking(names, watch)
    tracking.begin(folder.path, record.recipe)
    for line in list(_logged(folder.events)) or _recorded(record):
        with suppress(KeyError, TypeError, ZeroDivisionError):  # a line of another version
            tracking.send_points(list(tracking.points.of(line["event"], line, line["time"])))
    tracking.end(folder)
    tracking.close(SEND_SECONDS)
    return problems


class Tracking:
    """A watcher that sends the events of one run to trackers, and passes all on."""

    def __init__(self, names: Sequence[str], then: Watcher) -> None:
        self.then = then
        self.libraries = [one for one in map(library, names) if self._prepared(one)]
        self.senders: list[Sender] = []
        self.points = Points()
        self.id = ""

    def __call__(self, event: Event) -> None:
        """Passes an event on, then sends what is in it."""
        self.then(event)
        match event:
            case Started():
                self.begin(Path(event.folder), Recipe.model_validate(event.recipe).model_dump(exclude={"grid"}))
            case AlreadyDone() if self.libraries:
                names = ",".join(one.name for one in self.libraries)
                self._note(f"finished runs are sent with `finetune track {Path(event.folder).name} --to {names}`")
            case Done():
                self.end(RunFolder(Path(event.folder)))
            case _ if event.logged:
                self.send_points(list(self.points.of(event.name, event.facts(), time.time())))
        self._look()

    def begin(self, folder: Path, recipe: dict[str, Any]) -> None:
        """Opens the trackers and sends the settings, without the folders of this machine."""
        run, flat = TrackedRun.of(folder), settings(names_only(recipe))
        self.id = run.id
        self.senders = [Sender(one, run) for one in self.libraries]
        for sender in self.senders:
            one = sender.library
            sender.put(lambda tracker, one=one: one.configure(tracker, dict(flat)))  # type: ignore[misc]
            sender.start()

    def send_points(self, points: Sequence[TrackedPoint]) -> None:
        """Sends numbers of updates."""
        for sender in self.senders:
            for point in points:
                sender.put(_logging(point, sender.library))

    def end(self, folder: RunFolder) -> None:
        """Sends scores, final table and record of the finished run."""
        record = load_record(folder.record_file)
        self.send_points(list(self.points.at_end(final_numbers(record), time.time())))
        file = folder.record_file.resolve()
        for sender in self.senders:
            one = sender.library
            sender.put(lambda tracker, one=one: one.send_record(tracker, record, file))  # type: ignore[misc]

    def close(self, seconds: float) -> None:
        """Closes the trackers; those that have not taken everything after so many seconds are left, with a note."""
        until = time.monotonic() + seconds
        for sender in self.senders:
            sender.close()
        while any(one.is_alive() and not one.trouble for one in self.senders) and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            self._look()
        self._look()
        for sender in self.senders:
            if sender.trouble:
                continue
            if sender.is_alive():
                sender.give_up("late")
                self._note(f"{sender.library.name} did not take everything in {seconds:g} s: {self._again(sender)}")
            elif sender.unsent:
                why = f" ({sender.errors[-1]})" if sender.errors else ""
                self._note(f"{sender.library.name} did not take everything{why}: {self._again(sender)}")

    def _look(self) -> None:
        """Says which trackers are given up, once."""
        for sender in self.senders:
            if why := sender.look():
                self._note(f"{sender.library.name} is left out: {why.rstrip('. ')}; {self._again(sender)}")

    def _again(self, sender: Sender) -> str:
        return f"once the run is finished, `finetune track {self.id} --to {sender.library.name}` sends it"

    def _prepared(self, one: Library) -> bool:
        """Whether the library can be imported; if not, a note says why."""
        self.then(Working(f"opening {one.name}"))
        try:
            one.prepare()
        except Exception as error:  # whatever a library raises
            self._note(f"{one.name} is left out: {first_line(error)}")
            return False
        return True

    def _note(self, text: str) -> None:
        self.then(Note(text))


def _logging(point: TrackedPoint, one: Library) -> Callable[[Any], None]:
    return lambda tracker: tracker.log(point.numbers, step=point.step, **one.at(point.time))


def _recorded(record: RunRecord) -> Iterator[dict[str, Any]]:
    """The epochs of a record as events, for a run whose log was not kept."""
    batch = record.recipe.get("train", {}).get("batch_size", 1)
    an_epoch = math.ceil(record.features.get("train", 0) / batch)
    unit, numbers = record.scored_after
    now = time.time()
    for epoch, number in zip(record.epochs, numbers, strict=True):
        update = number * (an_epoch if unit == "epoch" else 1)
        yield {"event": "updates", "time": now, "update": update, "losses": [], "seconds": 0.0}
        yield {"event": "epoch", "time": now, **epoch}


def _logged(file: Path) -> Iterator[dict[str, Any]]:
    """The events of a log, if there is one; lines that cannot be parsed are left out."""
    if not file.is_file():
        return
    with file.open(encoding="utf-8", errors="replace") as opened:
        for line in opened:
            if (event := logged(line)) is not None:
                yield event
