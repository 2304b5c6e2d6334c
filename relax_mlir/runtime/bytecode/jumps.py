"""Python source for functions with jumps: structured conditions where possible, else a loop."""

from collections.abc import Callable

from relax_mlir.runtime.bytecode.flow import block_ends, successors
from relax_mlir.runtime.bytecode.instructions import Instruction, Opcode

# Blocks in blocks; CPython limits how deep a line may be indented.
_MAX_NESTED = 16


class Writer:
    """Lines of source, and which instruction each came from."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.instruction: list[int] = []

    def add(self, depth: int, text: str, instruction: int = -1) -> None:
        """Add a line; -1 is no instruction."""
        self.lines.append(" " * depth + text)
        self.instruction.append(instruction)


class Jumps:
    """Writes a function that has jumps.

    Attributes:
        roots: for each block that is reached by a jump, its lines: depth, text, instruction.
    """

    def __init__(self, code: list[Instruction], call: Callable[[Instruction], str]) -> None:
        """Lay out a function; `call` returns the source of a call instruction."""
        self._code, self._call = code, call
        self._end = block_ends(code)
        self._entries = self._count_entries()
        self._returns_to_start = False
        self.roots: dict[int, list[tuple[int, str, int]]] = {}
        todo = [0]
        while todo:
            start = todo.pop()
            if start not in self.roots:
                self._lines: list[tuple[int, str, int]] = []
                # Lines that jump, and where to.
                self._jumps: list[tuple[int, int]] = []
                self._write(start, 0)
                self.roots[start] = self._lines
                targets = [target for _, target in self._jumps]
                self._returns_to_start |= 0 in targets
                todo += targets

    def _count_entries(self) -> dict[int, int]:
        counts = {0: 1}
        todo = [0]
        while todo:
            for following in successors(self._code, self._end[todo.pop()]):
                counts[following] = counts.get(following, 0) + 1
                if counts[following] == 1:
                    todo.append(following)
        return counts

    def _write(self, start: int, depth: int) -> None:
        """Write a block, and those that only it leads to where it ends."""
        while True:
            end = self._end[start]
            for i in range(start, end):
                if self._code[i].op is Opcode.CALL:
                    self._lines.append((depth, self._call(self._code[i]), i))
            last, i = self._code[end - 1], end - 1
            following = successors(self._code, end)
            if not following:
                self._lines.append((depth, f"return r{last.reg.value}", i))
                return
            if last.op is Opcode.IF:
                # Most conditions are Python's own by now, and those cost no call.
                reg = f"r{last.reg.value}"
                test = f"{reg} is True or ({reg} is not False and truth({reg}))"
                if len(following) == 1:
                    self._lines.append((depth, test, i))
                else:
                    outside = len(self._jumps)
                    self._lines.append((depth, f"if {test}:", i))
                    self._follow(following[0], depth + 1, i)
                    self._lines.append((depth, "else:", i))
                    self._follow(following[1], depth + 1, i)
                    meeting = self._meeting(outside)
                    if meeting is None:
                        return
                    start = meeting
                    continue
            if self._entries[following[0]] > 1:
                self._jump(following[0], depth, i)
                return
            start = following[0]

    def _follow(self, start: int, depth: int, instruction: int) -> None:
        if self._entries[start] > 1 or depth > _MAX_NESTED:
            self._jump(start, depth, instruction)
        else:
            self._write(start, depth)

    def _jump(self, start: int, depth: int, instruction: int) -> None:
        self._jumps.append((len(self._lines), start))
        self._lines.append((depth, f"pc = {start}", instruction))

    def _meeting(self, outside: int) -> int | None:
        """Return the block where all ways out of a condition meet, if nothing else leads there.

        Then its jumps, those from `outside` on, need not be: it can be written next.
        """
        jumps = self._jumps[outside:]
        targets = {target for _, target in jumps}
        if len(targets) != 1 or len(jumps) != self._entries[jumps[0][1]]:
            return None
        for line, _ in jumps:
            depth, _, instruction = self._lines[line]
            self._lines[line] = (depth, "pass", instruction)
        del self._jumps[outside:]
        return jumps[0][1]

    def write(self, out: Writer, depth: int) -> None:
        """Write the function's body."""
        starts = sorted(self.roots)
        if len(starts) == 1 and not self._returns_to_start:
            self._write_tree(out, starts, depth)
            return
        out.add(depth, "pc = 0")
        out.add(depth, "while True:")
        self._write_tree(out, starts, depth + 1)

    def _write_tree(self, out: Writer, starts: list[int], depth: int) -> None:
        """Write a binary search for `pc` among blocks that are reached by jumps."""
        if len(starts) == 1:
            for inner, text, instruction in self.roots[starts[0]]:
                out.add(depth + inner, text, instruction)
            return
        middle = len(starts) // 2
        out.add(depth, f"if pc < {starts[middle]}:")
        self._write_tree(out, starts[:middle], depth + 1)
        out.add(depth, "else:")
        self._write_tree(out, starts[middle:], depth + 1)
