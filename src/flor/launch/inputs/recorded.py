"""What the world told a recorded run, found by the moment at which it was asked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from flor.model.positions import Position
from flor.model.records import Atom, Inputs
from flor.store.inputs import Group, groups, position_of

Head = tuple[Position, str, int]
"""The loop execution that a group of readings was made in: the position around it, the loop, its occurrence."""
OUTSIDE: Head = ((), "", 0)
HELD = 8  # groups that are held unpacked


@dataclass(frozen=True)
class Place:
    """One packed group, and the texts of the journal that it is from."""

    group: Group
    record: Inputs


@dataclass
class RecordedInputs:
    """An index over packed groups: unpacked is only what is asked for."""

    places: dict[Head, list[Place]] = field(default_factory=dict)
    last: Position = ()  # where the last reading was made
    count: int = 0
    _held: OrderedDict[int, dict[int, list[tuple[str, Atom]]]] = field(default_factory=OrderedDict)

    @classmethod
    def of(cls, records: Iterable[Inputs]) -> RecordedInputs:
        """The index of a run's records, in their order."""
        found = cls()
        for record in records:
            for group in groups(record.data):
                position = position_of(group.head, group.last, record.texts)
                found.places.setdefault(head_of(position), []).append(Place(group, record))
                found.last = position
                found.count += group.count
        return found

    def first(self, titles: Sequence[str]) -> Atom:
        """The first value, in the record's order, of a function so called; None if there is none near the beginning."""
        places = islice((place for some in self.places.values() for place in some), HELD)
        readings = ((place.record.texts[site], value) for place in places for _, site, value in place.group.readings())
        return next((value for site, value in readings if site.partition(" ")[0] in titles), None)

    def at(self, position: Position) -> dict[str, Iterator[Atom]]:
        """The readings of a moment: for each site its values, in their order."""
        at = position[-1].iteration if position else 0
        sites: dict[str, list[Atom]] = {}
        for place in self.places.get(head_of(position), ()):
            if place.group.first <= at <= place.group.last:
                for site, value in self._unpacked(place).get(at, ()):
                    sites.setdefault(site, []).append(value)
        return {site: iter(values) for site, values in sites.items()}

    def _unpacked(self, place: Place) -> dict[int, list[tuple[str, Atom]]]:
        """A group's readings by iteration; those of the last few groups are held."""
        key = id(place)
        if key not in self._held:
            texts = place.record.texts
            found: dict[int, list[tuple[str, Atom]]] = {}
            for at, site, value in place.group.readings():
                found.setdefault(at, []).append((texts[site], value))
            self._held[key] = found
            if len(self._held) > HELD:
                self._held.popitem(last=False)
        return self._held[key]


def head_of(position: Position) -> Head:
    """The loop execution of a moment."""
    return (position[:-1], position[-1].loop, position[-1].occurrence) if position else OUTSIDE
