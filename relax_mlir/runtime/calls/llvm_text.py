"""Pieces of LLVM IR as text: memory at an offset, elements of rows, loops."""


def at(result: str, base: str, offset: int, type_: str) -> str:
    """Return the code that reads what lies so many bytes after an address."""
    return (
        f"  {result}_at = getelementptr i8, ptr {base}, i64 {offset}\n"
        f"  {result} = load {type_}, ptr {result}_at"
    )


def put(name: str, base: str, offset: int, value: str) -> str:
    """Return the code that writes there; names begin with `name`."""
    return (
        f"  {name}_to = getelementptr i8, ptr {base}, i64 {offset}\n  store {value}, ptr {name}_to"
    )


def word(result: str, row: str, number: int, type_: str = "i64") -> str:
    """Return the code that reads one of a row of 8 bytes each."""
    return at(result, row, 8 * number, type_)


def loop(
    counter: str, before: str, bounds: tuple[str, str], body: str, after: str,
    carried: str = "", unless: tuple[str, str] | None = None,
) -> str:  # fmt: skip
    """Return a loop over 64-bit numbers, as what a block ends with and the blocks that follow.

    The loop's blocks are called after its counter: `i` has its head `i_loop`, where it is left, its
    body from `i_step` on, and `i_end`, from which it goes on.

    Args:
        counter: its name without `%`; in the body, the number of the step.
        before: the block that the code begins in.
        bounds: the first number and the one after the last, as unsigned values.
        body: code of a step; blocks of its own may follow, the last of which is open.
        after: the block that follows the loop.
        carried: phis of the head, of what the body hands on to the next step.
        unless: a condition under which the loop is left early, and the block to go to.
    """
    first, past = bounds
    end = f"label %{counter}_end"
    onward = f"br i1 {unless[0]}, label %{unless[1]}, {end}" if unless else f"br {end}"
    number = f"  %{counter} = phi i64 [ {first}, %{before} ], [ %{counter}_next, %{counter}_end ]"
    phis = "\n".join(filter(None, [number, carried]))
    return f"""  br label %{counter}_loop
{counter}_loop:
{phis}
  %{counter}_more = icmp ult i64 %{counter}, {past}
  br i1 %{counter}_more, label %{counter}_step, label %{after}
{counter}_step:
{body}
  {onward}
{counter}_end:
  %{counter}_next = add i64 %{counter}, 1
  br label %{counter}_loop"""


def element(result: str, row: str, number: str, type_: str = "ptr") -> str:
    """Return the code that reads one of a row of 8 bytes each, by a number that varies."""
    return (
        f"  {result}_at = getelementptr {type_}, ptr {row}, i64 {number}\n"
        f"  {result} = load {type_}, ptr {result}_at"
    )
