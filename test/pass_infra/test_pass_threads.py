"""Threads: contexts of their own, and eight compilations at once (issue 3); MLIR contexts."""

import gc
import random
import threading
import time
import traceback
import weakref

import numpy as np
import pytest
from programs import Program

from relax_mlir import IRModule, relax
from relax_mlir.dialects import context as contexts
from relax_mlir.dialects import context_lock, context_memory
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context, make_context
from relax_mlir.errors import PassError
from relax_mlir.instrument import PassTimingInstrument
from relax_mlir.transform import PassContext, Sequential, mlir, module_pass

THREADS = 8


def at_once(work, threads=THREADS):
    """Run `work(k)` in so many threads that start together; raise what one of them raised."""
    barrier = threading.Barrier(threads)
    errors = []

    def run(k):
        try:
            barrier.wait()
            work(k)
        except BaseException:
            errors.append(traceback.format_exc())

    started = [threading.Thread(target=run, args=(k,)) for k in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert not errors, "\n".join(errors)


def program(rows):
    made = Program()
    made.op("add", "add", ((rows, "n"),), ((rows, "n"),))
    made.op("exp", "exp", ((rows,),))
    return IRModule(made.module)


def compile_and_run(rows):
    vm = relax.VirtualMachine(relax.build(program(rows)))
    x = np.random.default_rng(rows).random((rows, 3), dtype="float32")
    np.testing.assert_array_equal(vm["add"](x, x), x + x)
    np.testing.assert_allclose(vm["exp"](x[:, 0].copy()), np.exp(x[:, 0]), rtol=1e-6)


@pytest.mark.parametrize("repetition", range(2))
def test_different_modules_compile_at_once(repetition):
    def work(k):
        for i in range(2):
            compile_and_run(2 + k * 5 + i + repetition * 50)

    at_once(work)


def test_modules_of_one_context_compile_at_once():
    # They wait for each other inside: MLIR's context is locked while passes run.
    mods = [program(2 + k) for k in range(THREADS)]
    assert len({mod.context for mod in mods}) == 1

    def work(k):
        for _ in range(2):
            vm = relax.VirtualMachine(relax.build(mods[k]))
            x = np.full((2 + k, 2), k, dtype="float32")
            np.testing.assert_array_equal(vm["add"](x, x), x + x)
            Sequential([mlir("cse"), relax.transform.LegalizeOps()])(mods[k])

    at_once(work)


def test_one_module_compiles_in_its_own_thread_only_but_its_text_anywhere():
    text = str(program(3))

    def work(k):
        vm = relax.VirtualMachine(relax.build(IRModule.parse(text)))
        x = np.full((3, 2), k, dtype="float32")
        np.testing.assert_array_equal(vm["add"](x, x), x + x)

    at_once(work)


@pytest.mark.parametrize("threads", [2, 3])
def test_passes_that_wait_for_each_others_modules_fail(threads):
    barrier = threading.Barrier(threads)
    mods, outcomes = [None] * threads, []

    def work(k):
        mods[k] = IRModule.parse("func.func private @f()")

        @module_pass(opt_level=0, name="Crossing")
        def crossing(mod, ctx):
            barrier.wait()
            mlir("cse")(mods[(k + 1) % threads])
            return mod

        try:
            crossing(mods[k])
            outcomes.append(None)
        except PassError as error:
            outcomes.append(error)

    # Daemons: without the error they never end.
    started = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(20)
    errors = [each for each in outcomes if each is not None]
    assert len(outcomes) == threads
    assert len(errors) == 1
    assert errors[0].pass_name == "Crossing"
    assert "deadlock: this thread uses a module of one MLIR context" in str(errors[0])
    assert not context_lock._ContextLock.waits
    # Nothing is left locked.
    for mod in mods:
        assert str(mlir("cse")(mod)) == str(mod)


def test_a_pass_may_wait_for_another_context():
    mine, other = (IRModule.parse("func.func private @f()", make_context()) for _ in range(2))
    taken = threading.Event()

    def hold():
        with context_lock.lock_of(other.context):
            taken.set()
            time.sleep(0.6)

    @module_pass(opt_level=0, name="Waits")
    def waits(mod, ctx):
        mlir("cse")(other)
        return mod

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    try:
        assert str(waits(mine)) == str(mine)
    finally:
        thread.join()


def test_dialects_load_at_once():
    def work(k):
        for _ in range(3):
            context = make_context()
            text = 'func.func @f(%x: f32) { %0 = "relax.prim_value"() {value = #relax.dims<["n"], '
            text += "affine_map<()[s0] -> (s0)>>} : () -> i64 return }"
            assert ir.Module.parse(text, context).operation.verify()

    at_once(work)


def test_pass_contexts_and_instruments_do_not_meet():
    def work(k):
        rng = random.Random(k)
        mod = IRModule.parse(
            f"func.func @f{k}(%x: f32) -> f32 attributes {{relax.function}} {{ return %x : f32 }}"
        )
        for _ in range(30):
            timing = PassTimingInstrument()
            names = [f"P{k}_{i}" for i in range(rng.randrange(1, 5))]

            def check(mod, ctx, k=k):
                assert PassContext.current() is ctx
                assert ctx.opt_level == k
                assert mod.function_names == [f"f{k}"]
                return mod

            passes = [module_pass(check, opt_level=0, name=name) for name in names]
            with PassContext(opt_level=k, instruments=[timing]):
                Sequential([*passes, mlir("cse")])(mod)
            (outer,) = timing.passes
            assert [each.name for each in outer.children] == [*names, "cse"]

    at_once(work)


class TestDefaultContext:
    """A thread's context is replaced when it is old and nothing of it is held but modules."""

    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch):
        monkeypatch.setattr(contexts, "MAX_USES", 3)
        monkeypatch.setattr(contexts._LOCAL, "context", None, raising=False)
        yield
        contexts._LOCAL.context = None

    @staticmethod
    def contexts_of_a_loop(count=8):
        """Return how many contexts a loop goes through whose variable keeps its last module."""
        changes, before = 0, None
        for i in range(count):
            mod = IRModule.parse(f"func.func private @f{i}()")
            assert mod.function_names == [f"f{i}"]
            # An address, not the context: that would keep it.
            now = id(contexts._LOCAL.context)
            changes += now != before or contexts._LOCAL.uses == 1
            before = now
        return changes

    def test_a_loop_goes_through_several(self):
        assert self.contexts_of_a_loop() == 3

    def test_the_last_module_lives_on_in_its_own(self):
        kept = IRModule.parse("func.func private @kept()")
        for _ in range(3):
            default_context()
        IRModule.parse("func.func private @new()")
        assert default_context() != kept.context
        assert str(mlir("cse")(kept)) == str(kept)

    @pytest.mark.parametrize("count", [1, 2, 10])
    def test_modules_live_on_in_theirs(self, count):
        kept = [IRModule.parse(f"func.func private @f{i}()") for i in range(count)]
        assert self.contexts_of_a_loop() >= 2
        assert len({mod.context for mod in kept}) == -(-count // 3)
        for i, mod in enumerate(kept):
            assert str(mlir("cse")(mod)) == str(mod)
            assert mod.function_names == [f"f{i}"]

    def test_the_old_one_ends_with_its_last_module(self):
        kept = [IRModule.parse(f"func.func private @f{i}()") for i in range(2)]
        old = weakref.ref(kept[0].context)
        self.contexts_of_a_loop()
        kept.pop()
        assert old() is not None
        kept.pop()
        assert old() is None

    def test_not_while_a_type_is_held(self):
        held = ir.Type.parse("tensor<4xf32>", default_context())
        assert self.contexts_of_a_loop() == 1
        assert IRModule.parse("func.func private @f()").context == held.context

    def test_an_executable_keeps_none(self):
        kept = relax.build(program(3))
        old = weakref.ref(contexts._LOCAL.context)
        gc.collect()
        self.contexts_of_a_loop()
        assert old() is None
        x = np.ones((3, 2), "float32")
        np.testing.assert_array_equal(relax.VirtualMachine(kept)["add"](x, x), x + x)

    def test_not_while_a_function_is_held(self):
        held = IRModule.parse("func.func private @f()")["f"]
        assert self.contexts_of_a_loop() == 1
        assert IRModule.parse("func.func private @f()").context == held.module.context

    def test_modules_of_several_are_put_together(self):
        first = IRModule.parse("func.func private @f()")
        self.contexts_of_a_loop()
        second = IRModule.parse("func.func private @f(i32)\nfunc.func private @g()")
        assert first.context != second.context
        assert second.moved_to(second.context) is second
        moved = second.moved_to(first.context)
        assert moved.context == first.context
        assert str(moved) == str(second)
        first.update(second)
        assert first.function_names == ["f", "g"]
        assert "i32" in str(first)
        first.verify()
        result = module_pass(lambda mod, ctx: first, opt_level=0, name="First")(second)
        assert result.context == second.context
        assert str(result) == str(first)

    def test_not_while_it_is_entered(self):
        with default_context():
            inside = ir.Context.current
            kept = [IRModule.parse("func.func private @f()") for _ in range(8)]
            assert {mod.context for mod in kept} == {inside}

    def test_inside_a_pass_it_is_the_modules(self):
        mod = IRModule.parse("func.func private @f()", make_context())

        @module_pass(opt_level=0, name="Look")
        def look(mod, ctx):
            assert default_context() == mod.context
            return IRModule.parse("func.func private @g()")

        assert look(mod).function_names == ["g"]

    def test_a_foreign_context_is_not_taken(self):
        with ir.Context() as foreign:
            assert default_context() != foreign

    def test_many_bytes_of_constants_make_it_old(self, monkeypatch):
        from relax_mlir.dialects.relax.constants import constant_attribute

        monkeypatch.setattr(contexts, "MAX_USES", 1000)
        monkeypatch.setattr(context_memory, "MAX_BYTES", 1 << 20)
        first = IRModule.parse("func.func private @f()")
        with first.context, ir.Location.unknown():
            attribute = constant_attribute(np.zeros(1 << 17))
            first.mlir_module.operation.attributes["test.value"] = attribute
            del attribute
        second = IRModule.parse("func.func private @f()")
        assert second.context != first.context
