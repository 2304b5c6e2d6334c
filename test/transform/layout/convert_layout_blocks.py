# RUN: %PYTHON %s | FileCheck %s
"""Pass `ConvertLayout`: layouts with blocks of channels."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Images:
    # Elementwise operations and pooling stay in blocks; a bias of all dimensions is brought there.
    # CHECK-LABEL: def chain(
    # CHECK: [[X:lv[0-9]*]]: {{.*}} = R.layout_transform(x,
    # CHECK-SAME: lambda i0, i1, i2, i3: (i0, i1 // 4, i2, i3, i1 % 4)
    # CHECK: [[W:lv[0-9]*]]: {{.*}} = R.layout_transform(w,
    # CHECK-SAME: (i0 // 4, i1, i2, i3, i0 % 4)
    # CHECK: R.nn.conv2d([[X]], [[W]], data_layout="NCHW4c", kernel_layout="OIHW4o"
    # CHECK: [[B:lv[0-9]*]]: {{.*}} = R.layout_transform(b,
    # CHECK: R.add({{.*}}, [[B]])
    # CHECK: R.nn.relu(
    # CHECK: [[P:lv[0-9]*]]: {{.*}} = R.nn.max_pool2d({{.*}}layout="NCHW4c"
    # CHECK: R.layout_transform([[P]], {{.*}}(i0, i1 * 4 + i4, i2, i3)
    # CHECK-NOT: R.layout_transform
    # CHECK: return
    @R.function
    def chain(x: R.Tensor((2, 8, 9, 9)), w: R.Tensor((16, 8, 3, 3)), b: R.Tensor((1, 16, 7, 7))):
        with R.dataflow():
            y = R.nn.relu(R.add(R.nn.conv2d(x, w), b))
            z = R.nn.max_pool2d(y, (2, 2))
            R.output(z)
        return z

    # A sum over other axes keeps the blocks, whole parts are split along them.
    # CHECK-LABEL: def parts(
    # CHECK: [[S:lv[0-9]*]]: {{.*}} = R.sum({{.*}}, axis=[2, 3])
    # CHECK: R.layout_transform([[S]], {{.*}}lambda i0, i1, i2: (i0, i1 * 4 + i2)
    # CHECK: R.concat({{.*}}, axis=1)
    # CHECK: R.split({{.*}}, indices_or_sections=[2, 5], axis=1)
    @R.function
    def parts(x: R.Tensor((2, 8, 9, 9)), w: R.Tensor((16, 8, 3, 3))):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            s = R.sum(y, axis=[2, 3])
            p = R.split(R.concat((y, R.exp(y)), axis=1), [8, 20], axis=1)
            R.output(s, p)
        return s, p

    # What needs an axis in one piece gets the tensor back.
    # CHECK-LABEL: def back(
    # CHECK: R.nn.conv2d({{.*}}data_layout="NCHW4c"
    # CHECK: [[Y:[a-z0-9]+]]: {{.*}} = R.layout_transform({{.*}}i1 * 4 + i4
    # CHECK-DAG: R.nn.softmax([[Y]], axis=1)
    # CHECK-DAG: R.split([[Y]], indices_or_sections=[6], axis=1)
    @R.function
    def back(x: R.Tensor((2, 8, 9, 9)), w: R.Tensor((16, 8, 3, 3))):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            z = R.nn.softmax(y, axis=1)
            p = R.split(y, [6], axis=1)
            R.output(z, p)
        return z, p

    # Channels that fill no blocks stay.
    # CHECK-LABEL: def odd(
    # CHECK-NOT: layout_transform
    # CHECK: R.nn.conv2d(x, w)
    @R.function
    def odd(x: R.Tensor((2, 6, 9, 9)), w: R.Tensor((16, 6, 3, 3))):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            R.output(y)
        return y


blocks = {"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]}
print(transform.ConvertLayout(blocks)(Images).script())
