"""Expressions of metrics: what they may hold, so that a description of a stranger runs no code.

Numbers, outputs by part and variable, the times ``t``, arithmetic, comparisons, ``and``, ``or``,
``not``, ``a if b else c``, items and slices; calls of Python's ``abs``, ``min``, ``max``, ``sum``,
``len``, ``float`` and ``bool``, of functions of NumPy that compute with arrays (``FUNCTIONS``), and
of methods of arrays (``METHODS``). Everything else is refused when the description is read, with
its text. A power of two whole numbers is computed in floating point: whole numbers of Python have
no limit.
"""

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

BUILTINS: Mapping[str, Any] = {
    function.__name__: function for function in (abs, min, max, sum, len, float, bool)
}
#: Functions of NumPy that compute with arrays.
FUNCTIONS = frozenset((
    "abs", "absolute", "all", "allclose", "amax", "amin", "angle", "any", "arccos", "arccosh",
    "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argsort", "around",
    "average", "cbrt", "ceil", "clip", "convolve", "copysign", "corrcoef", "correlate", "cos",
    "cosh", "count_nonzero", "cov", "cross", "cumprod", "cumsum", "deg2rad", "degrees", "diff",
    "divide", "dot", "ediff1d", "exp", "expm1", "fabs", "fft.irfft", "fft.rfft", "fft.rfftfreq",
    "flatnonzero", "flip", "floor", "fmax", "fmin", "fmod", "gradient", "heaviside", "hypot",
    "imag", "interp", "isclose", "isfinite", "isinf", "isnan", "linalg.norm", "log", "log10",
    "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "max", "maximum",
    "mean", "median", "min", "minimum", "mod", "nan_to_num", "nancumsum", "nanmax", "nanmean",
    "nanmedian", "nanmin", "nanpercentile", "nanquantile", "nanstd", "nansum", "nanvar", "negative",
    "percentile", "polyfit", "polyval", "power", "prod", "ptp", "quantile", "rad2deg", "radians",
    "real", "rint", "roll", "round", "searchsorted", "sign", "sin", "sinc", "sinh", "sort", "sqrt",
    "square", "std", "subtract", "sum", "tan", "tanh", "trapezoid", "trapz", "trunc", "unique",
    "unwrap", "var", "where",
))  # fmt: skip
#: Numbers of NumPy.
NUMBERS = frozenset(["e", "inf", "nan", "pi"])
#: Methods of arrays.
METHODS = frozenset((
    "all", "any", "argmax", "argmin", "clip", "cumprod", "cumsum", "dot", "max", "mean", "min",
    "prod", "ptp", "round", "std", "sum", "var",
))  # fmt: skip
#: Arguments that may be named: those that no result is written to.
KEYWORDS = frozenset((
    "append", "axis", "ddof", "deg", "discont", "initial", "keepdims", "left", "method", "mode",
    "n", "nan", "ord", "period", "prepend", "right", "side", "weights", "where",
))  # fmt: skip
_NODES = (ast.BoolOp, ast.IfExp, ast.Slice, ast.Subscript)
_OPERATORS = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.BitAnd, ast.BitOr, ast.BitXor),  # of truth values: & and | of comparisons
)
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)

IsOutput = Callable[[str], bool]


class ExpressionError(ValueError):
    """An expression that is none, or may do more than compute."""


def parsed(expression: str) -> ast.Expression:
    """The syntax tree of an expression."""
    try:
        return ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{expression!r} is no expression: {error}") from error


def check_expression(expression: str, is_output: IsOutput) -> None:
    """Refuse what is not described above; ``is_output`` knows outputs by part and variable."""
    try:
        _Checker(is_output).check(parsed(expression).body)
    except (ExpressionError, RecursionError) as error:
        raise ExpressionError(
            f"{expression!r}: {error}; allowed are arithmetic, comparisons, outputs, t and"
            " functions that compute with them. If you trust this description, --trust runs any"
            " code in it"
        ) from error


def chain_of(node: ast.AST) -> list[str]:
    """The names of ``a.b.c``; nothing if a node is something else."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        before = chain_of(node.value)
        return [*before, node.attr] if before else []
    return []


class _Checker:
    """Goes through an expression."""

    def __init__(self, is_output: IsOutput) -> None:
        self._is_output = is_output

    def check(self, node: ast.AST) -> None:
        """Refuse a node, or one below it."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            self._named(node)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Constant):
            if type(node.value) not in (int, float, bool):
                self._refuse(node)
        elif self._is_plain(node):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.Tuple) and isinstance(node, ast.Subscript):
                    self._all(child.elts)
                elif isinstance(child, ast.expr):
                    self.check(child)
        else:
            self._refuse(node)

    def _is_plain(self, node: ast.AST) -> bool:
        """Whether a node may be there if what is below it may."""
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, _OPERATORS)
        if isinstance(node, ast.Compare):
            return all(isinstance(op, _COMPARISONS) for op in node.ops)
        return isinstance(node, (*_NODES, ast.UnaryOp))

    def _all(self, nodes: list[ast.expr]) -> None:
        for node in nodes:
            self.check(node)

    def _named(self, node: ast.expr) -> None:
        chain = chain_of(node)
        name = ".".join(chain)
        is_number = len(chain) == 2 and chain[0] == "np" and chain[1] in NUMBERS
        if not (name == "t" or is_number or (chain and self._is_output(name))):
            self._refuse(node)

    def _call(self, node: ast.Call) -> None:
        function, chain = node.func, chain_of(node.func)
        if chain[:1] == ["np"]:
            name = ".".join(chain[1:])
            if name not in FUNCTIONS or not _is_there(chain[1:]):
                self._refuse(function)
        elif isinstance(function, ast.Attribute) and function.attr in METHODS:
            self.check(function.value)
        elif len(chain) != 1 or chain[0] not in BUILTINS:
            self._refuse(function)
        for keyword in node.keywords:
            if keyword.arg not in KEYWORDS:
                raise ExpressionError(f"{keyword.arg or '**'}= is not allowed")
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            self._argument(argument)

    def _argument(self, node: ast.expr) -> None:
        """Arguments may also be lists, and the words that some functions take."""
        if isinstance(node, (ast.List, ast.Tuple)):
            for item in node.elts:
                self._argument(item)
        elif not (isinstance(node, ast.Constant) and type(node.value) in (str, type(None))):
            self.check(node)

    def _refuse(self, node: ast.AST) -> None:
        raise ExpressionError(f"{ast.unparse(node)} is not allowed")


def _is_there(names: list[str]) -> bool:
    """Whether the NumPy that is installed has something."""
    place: Any = np
    for name in names:
        place = getattr(place, name, None)
    return place is not None


def compute(expression: str, values: Mapping[str, Any]) -> Any:
    """What an expression that was checked gives, with these values by the first of their names."""
    tree = ast.fix_missing_locations(_Powers().visit(parsed(expression)))
    scope = {"__builtins__": {}, **BUILTINS, **values, "np": np, _POWER: _power}
    return eval(compile(tree, "<metric>", "eval"), scope)


#: Cannot be the name of a part.
_POWER = "_power"


class _Powers(ast.NodeTransformer):
    """Has powers computed by ``_power``."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Take the place of a power."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        return ast.Call(ast.Name(_POWER, ast.Load()), [node.left, node.right], [])


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        return float(base) ** exponent
    return base**exponent
