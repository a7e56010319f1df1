"""What is known of the functions and methods that log statements call: harmless, disturbing, or neither."""

from __future__ import annotations

from dataclasses import dataclass

from flor.model.edits import Level
from flor.source.words import words


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a call does to training: nothing if `level` is None."""

    level: Level | None
    reason: str = ""
    draws: bool = False  # from torch's generator, which `fork_rng` shields


HARMLESS = Verdict(None)

_BUILTINS = words(
    """print len sum min max abs round float int str repr bool sorted list tuple dict set frozenset zip enumerate
    range map filter any all isinstance issubclass type getattr hasattr format divmod pow hex bin oct ord chr id
    slice reversed vars callable iter hash bytes bytearray complex ascii object super open dir memoryview
    Exception ValueError RuntimeError KeyError StopIteration"""
)
_FRESH_BUILTINS = words(
    """list tuple dict set frozenset sorted str repr int float bool len sum round bytearray open iter zip enumerate
    map filter range reversed"""
)

_PURE_ROOTS = words(
    """math cmath statistics itertools functools collections copy pprint textwrap datetime time timeit
    platform sys string re decimal fractions numbers dataclasses inspect traceback types typing gc psutil resource
    tracemalloc logging socket contextlib enum json csv io pathlib os.path os.getpid os.getcwd
    os.environ.get os.makedirs os.cpu_count os.listdir os.stat sklearn.metrics scipy.stats scipy.special matplotlib
    pandas polars seaborn rich tabulate flor wandb mlflow tensorboard tensorboardX tqdm torchinfo torchsummary
    torch numpy prettytable colorama uuid hashlib base64 struct pickle.dumps pickle.dump"""
)

_RANDOM_TORCH = words(
    """rand randn randint randperm rand_like randn_like randint_like bernoulli multinomial normal poisson binomial
    dropout alpha_dropout feature_dropout feature_alpha_dropout dropout1d dropout2d dropout3d rrelu
    gumbel_softmax fractional_max_pool2d"""
)
_PURE_NUMPY_RANDOM = words("default_rng Generator RandomState SeedSequence get_state PCG64")
_PURE_RANDOM = words("Random SystemRandom getstate")
_SEEDING = words(
    """seed manual_seed manual_seed_all set_rng_state set_rng_state_all set_state setstate seed_everything
    set_seed default_generator"""
)
_SEEDED_ROOTS = words("torch numpy random transformers lightning pytorch_lightning accelerate")
_SWITCHES = words(
    """set_grad_enabled set_default_dtype set_default_device set_num_threads set_num_interop_threads
    use_deterministic_algorithms set_float32_matmul_precision set_flush_denormal set_anomaly_enabled
    set_default_tensor_type"""
)
_UNSURE_TORCH = words("compile load utils.data hub jit optim nn.init autograd distributed multiprocessing")
_PLAIN_LAYERS = words(
    """ReLU Softmax LogSoftmax Sigmoid Tanh GELU Flatten Identity CosineSimilarity PairwiseDistance ELU SiLU
    LeakyReLU MaxPool2d AvgPool2d AdaptiveAvgPool2d Parameter Module"""
)

_PURE_METHODS = words(
    """item tolist norm mean sum std var min max abs detach clone cpu cuda numpy float double half bfloat16 int
    long short bool byte to type view reshape flatten unflatten squeeze unsqueeze permute transpose t
    contiguous expand expand_as repeat unfold split chunk narrow select index_select gather argmax argmin argsort topk
    kthvalue median mode quantile nanmean nansum nanmedian prod cumsum cumprod all any eq ne lt le gt ge add sub mul div
    matmul mm bmm dot mv outer pow sqrt rsqrt exp expm1 log log2 log10 log1p sin cos tan sigmoid tanh relu softmax
    log_softmax clamp clip round floor ceil trunc frac sign isnan isinf isfinite logical_and logical_or logical_not
    masked_select masked_fill where nonzero count_nonzero unique bincount histc size dim numel ndimension
    element_size stride data_ptr storage_offset is_contiguous is_floating_point is_leaf nelement diff amax amin
    aminmax logsumexp histogram trace diagonal diag tril triu det logdet inverse cosine_similarity dist roll flip
    floor_divide remainder fmod square reciprocal neg erf lerp allclose equal isclose new_zeros new_ones
    new_tensor new_full type_as cov corrcoef std_mean var_mean sparse_mask coalesce indices values
    parameters named_parameters buffers named_buffers modules named_modules children named_children state_dict
    get_parameter get_submodule get_buffer extra_repr get_last_lr get_lr current_device
    keys items get copy count index join format split rsplit strip lstrip rstrip replace startswith endswith
    upper lower title capitalize ljust rjust center zfill encode decode hex is_integer as_integer_ratio
    bit_length partition rpartition splitlines isoformat strftime total_seconds timestamp most_common
    astype ravel ndim nanmax nanmin ptp
    predict_proba numpy_function entropy log_prob cdf icdf
    exists is_file is_dir resolve read_text
    mkdir parent with_suffix joinpath absolute as_posix"""
)
_COPYING_METHODS = words(
    """clone item tolist mean sum std var norm copy abs exp log sqrt pow argmax argmin topk softmax sigmoid astype
    split join format strip upper lower add sub mul div matmul keys square isnan isfinite eq ne lt gt"""
)

_CERTAIN_METHODS = {
    "step": "takes a step",
    "backward": "computes gradients",
    "zero_grad": "clears gradients",
    "load_state_dict": "overwrites state",
    "manual_seed": "seeds a random generator",
    "manual_seed_all": "seeds a random generator",
    "seed": "seeds a random generator",
    "set_state": "sets a random generator",
    "setstate": "sets a random generator",
    "set_rng_state": "sets a random generator",
    "add_param_group": "changes the optimizer",
    "register_parameter": "changes the module",
    "register_buffer": "changes the module",
    "register_module": "changes the module",
    "add_module": "changes the module",
    "unscale_": "changes gradients",
}
_MODE_METHODS = frozenset({"train", "eval"})
_MUTATORS = words(
    """append extend insert popleft appendleft extendleft remove clear setdefault popitem discard update pop
    reverse push push_back put rotate move_to_end subtract difference_update intersection_update fill
    resize send throw sample shuffle choice randrange random randint uniform gauss normalvariate rvs
    integers standard_normal permutation step_update reset"""
)


_MAKERS = words(
    """defaultdict Counter deque OrderedDict deepcopy zeros ones zeros_like ones_like empty full arange linspace stack
    cat array StringIO SummaryWriter DataFrame default_rng RandomState Random
    Generator"""
)
_CASTS = words("to cuda cpu half float double bfloat16 type")
_TENSOR_PARTS = words("weight bias grad data running_mean running_var values indices exp_avg exp_avg_sq")


def casts_in_place(method: str, receiver: str) -> bool:
    """True for `.half()` and the like: of a tensor a copy, of a module a change; `receiver` is its last name."""
    return method in _CASTS and receiver not in _TENSOR_PARTS


def is_mode_switch(method: str) -> bool:
    """True for `.train()` and `.eval()`."""
    return method in _MODE_METHODS


def is_mutator(method: str) -> bool:
    """True if a method of that name changes the object it is called on."""
    return method in _MUTATORS


def is_in_place(method: str) -> bool:
    """True for the in-place methods of tensors, which end in one underscore."""
    return method.endswith("_") and not method.endswith("__") and not method.startswith("_")


def is_copying(method: str) -> bool:
    """True if what the method returns shares nothing with the object."""
    return method in _COPYING_METHODS


def makes_fresh(builtin: str) -> bool:
    """True if the builtin or constructor returns an object that nothing else holds."""
    return builtin in _FRESH_BUILTINS or builtin.rpartition(".")[2] in _MAKERS


def judge_builtin(name: str) -> Verdict | None:
    """What a call of a builtin does; None if it is none that is known."""
    if name in _BUILTINS:
        return HARMLESS
    if name in ("setattr", "delattr", "exec", "eval", "exit", "quit", "input", "breakpoint", "__import__"):
        level: Level = "certain" if name in ("setattr", "delattr", "exit", "quit", "input", "breakpoint") else "maybe"
        return Verdict(level, f"calls {name}()")
    return None


def judge_method(name: str) -> Verdict | None:
    """What a method does, whatever the object; None if that is not known."""
    if name in _CERTAIN_METHODS:
        return Verdict("certain", f".{name}() {_CERTAIN_METHODS[name]}")
    return HARMLESS if name in _PURE_METHODS else None


def judge_dotted(path: str) -> Verdict | None:
    """What a function of a module does, by its full name such as `torch.nn.functional.relu`; None if unknown."""
    last = path.rpartition(".")[2]
    root = path.partition(".")[0]
    if root in _SEEDED_ROOTS and last in _SEEDING:
        return Verdict("certain", f"{path}() seeds a random generator", draws=root == "torch")
    if root == "random":
        return HARMLESS if last in _PURE_RANDOM else Verdict("certain", f"{path}() draws a random number")
    if path.startswith("numpy.random."):
        return HARMLESS if last in _PURE_NUMPY_RANDOM else Verdict("certain", f"{path}() draws a random number")
    if root == "torch":
        return _judge_torch(path, last)
    if path in ("sys.exit", "os._exit", "os.abort", "os.kill", "sys.setrecursionlimit", "os.chdir"):
        return Verdict("certain", f"{path}() changes the process")
    if path.startswith("numpy.") and last in ("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"):
        return Verdict("certain", f"{path}() changes an array")
    if path.startswith("scipy.stats.") and last == "rvs":
        return Verdict("certain", f"{path}() draws a random number")
    return HARMLESS if any(path == pure or path.startswith(f"{pure}.") for pure in _PURE_ROOTS) else None


def _judge_torch(path: str, last: str) -> Verdict | None:
    """What a function of torch does: few of them do anything but compute."""
    inner = path.removeprefix("torch.")
    if last in _RANDOM_TORCH:
        return Verdict("certain", f"{path}() draws a random number", draws=True)
    if last in _CERTAIN_METHODS or last in _MODE_METHODS:
        return Verdict("certain", f"{path}() changes what training uses")
    if last in _SWITCHES:
        return Verdict("certain", f"{path}() changes how torch computes")
    if is_in_place(last):
        return Verdict("certain", f"{path}() changes a tensor in place")
    if inner == "set_printoptions":
        return Verdict("maybe", f"{path}() changes how recorded tensors print")
    if inner.startswith("nn.") and last[:1].isupper():
        calm = last in _PLAIN_LAYERS or last.endswith("Loss")
        return HARMLESS if calm else Verdict("maybe", f"{path}() may draw random numbers for its weights")
    if any(inner == unsure or inner.startswith(f"{unsure}.") for unsure in _UNSURE_TORCH):
        # tensorboard lives in torch.utils, anomaly detection and profiling in torch.autograd
        calm = last in ("load", "tensorboard", "profile", "detect_anomaly", "record_function", "default_collate")
        return HARMLESS if calm else Verdict("maybe", f"{path}() may change what training uses")
    return HARMLESS
