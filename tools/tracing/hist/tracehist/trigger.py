# SPDX-License-Identifier: GPL-2.0
"""The lines of trigger files."""

from dataclasses import dataclass, field
from typing import Optional

from tracehist.bucket import Scale, scale_of
from tracehist.table import Key


@dataclass
class Trigger:
    """A histogram as it is to be made."""

    keys: list[str]
    values: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    size: Optional[int] = None
    filter: Optional[str] = None
    # Elements that nothing waits for are used again for other keys.
    reuse: bool = False

    def __str__(self) -> str:
        line = "hist:keys=" + ",".join(self.keys)
        if self.values:
            line += ":vals=" + ",".join(self.values)
        line += "".join(f":{v}" for v in self.variables)
        if self.size is not None:
            line += f":size={self.size}"
        if self.reuse:
            line += ":reuse"
        line += "".join(f":{a}" for a in self.actions)
        return line + (f" if {self.filter}" if self.filter else "")


def modifier(name: str) -> tuple[str, str]:
    """Splits a field from its modifier: "lat.log2=3" is ("lat", "log2=3")."""
    field_name, _, rest = name.partition(".")
    return field_name, rest


def scale_of_key(name: str) -> Optional[Scale]:
    """Returns the scale of a key of a trigger, or None."""
    return scale_of(modifier(name)[1])


def key_names(line: str) -> list[str]:
    """Returns the keys of a trigger, with their modifiers."""
    for clause in line.split(" if ")[0].split(" [")[0].split(":"):
        for prefix in ("keys=", "key="):
            if clause.startswith(prefix):
                return [k.strip() for k in clause[len(prefix) :].split(",")]
    return []


def keys_of(line: str) -> list[Key]:
    """Returns the columns that the keys of a trigger have in a table."""
    return [
        Key(modifier(name)[0] if name != "common_stacktrace" else name, scale_of_key(name)) for name in key_names(line)
    ]
