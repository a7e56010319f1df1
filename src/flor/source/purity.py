"""What is known of library calls: which change nothing, which change their receiver or an argument, which draw."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """What a call does to what it is given."""

    FRESH = "changes nothing, the result shares nothing"
    PURE = "changes nothing, the result may share its arguments"
    RECEIVER = "changes its receiver only"
    FIRST = "changes its first argument only"
    UNKNOWN = "may change its receiver and all arguments"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEVER_SUPPRESSING = _words(
    "no_grad enable_grad inference_mode set_grad_enabled autocast open tqdm trange profile record_function "
    "device stream fork_rng set_detect_anomaly detect_anomaly no_sync errstate StringIO Lock RLock TemporaryDirectory "
    "NamedTemporaryFile catch_warnings SummaryWriter start_run nullcontext redirect_stdout redirect_stderr accumulate "
    "sdpa_kernel ProcessPoolExecutor ThreadPoolExecutor Pool ZipFile gzip"
)
"""Context managers that let every exception through, by the last part of their name."""

_FRESH_BUILTINS = _words(
    "print len int float str bool bytes complex repr ascii format range isinstance issubclass callable hash id "
    "chr ord hex oct bin hasattr round divmod input open type slice"
)
_PURE_BUILTINS = _words(
    "abs pow sum min max any all list tuple dict set frozenset sorted reversed enumerate zip getattr super "
    "iter bytearray memoryview object"
)
_FIRST_BUILTINS = _words("next setattr delattr")

_FRESH_METHODS = _words(
    "item tolist numel dim ndimension nelement element_size stride storage_offset data_ptr is_contiguous "
    "startswith endswith format join split rsplit splitlines strip lstrip rstrip lower upper title replace encode "
    "decode isdigit isalpha zfill ljust rjust center count index find rfind total_seconds isoformat strftime "
    "hexdigest get_last_lr is_cuda is_floating_point requires_grad exists is_file is_dir as_posix "
    "add_scalar add_scalars add_text add_histogram add_image add_figure add_graph add_hparams "
    "debug info warning error exception critical set_description set_postfix set_postfix_str refresh write flush "
    "argmax argmin argsort allclose equal eq ne lt le gt ge any all isnan isinf isfinite nonzero most_common"
)
_PURE_METHODS = _words(
    "keys values items get copy detach clone cpu cuda to numpy float double half bfloat16 int long short bool type "
    "view view_as reshape flatten unflatten squeeze unsqueeze permute transpose t T expand expand_as repeat chunk "
    "contiguous mean sum std var norm max min amax amin median mode prod cumsum cumprod abs sqrt rsqrt exp log log2 "
    "log10 log1p pow sin cos tan tanh sigmoid relu softmax log_softmax clamp clip round floor ceil sign neg sub "
    "mul div matmul mm bmm dot mv ger addmm gather index_select masked_select masked_fill scatter where topk "
    "unbind narrow select diagonal diag tril triu flip roll size new_zeros new_ones new_tensor new_full new_empty "
    "type_as unique square reciprocal logsumexp lerp outer kthvalue "
    "parameters named_parameters buffers named_buffers modules named_modules children named_children state_dict "
    "get_submodule get_parameter union intersection difference issubset issuperset astype ravel swapaxes"
)
_RECEIVER_METHODS = _words(
    "append extend insert remove pop clear sort reverse add discard update setdefault popitem appendleft popleft "
    "extendleft rotate zero_grad train eval load_state_dict subtract seed manual_seed set_state fill put set_epoch"
)
_KEEPING_METHODS = _words("append extend insert add update setdefault appendleft extendleft")

_PURE_MODULES = _words(
    "math operator string datetime itertools collections functools statistics typing dataclasses enum json.dumps "
    "torch torch.nn.functional torch.fft torch.linalg torch.special torch.cuda numpy numpy.linalg numpy.fft os.path"
)
_FRESH_CALLS = _words(
    "time.time time.perf_counter time.monotonic time.process_time time.sleep time.strftime time.time_ns copy.deepcopy "
    "os.getenv os.getcwd os.getpid os.makedirs os.listdir os.path.join os.path.exists json.dumps json.dump torch.save "
    "gc.collect torch.cuda.is_available torch.cuda.synchronize torch.cuda.empty_cache torch.cuda.memory_allocated "
    "sys.exit sys.stdout.write sys.stdout.flush sys.stderr.write logging.info logging.debug logging.warning "
    "logging.error torch.manual_seed torch.cuda.manual_seed torch.cuda.manual_seed_all numpy.random.seed random.seed "
    "torch.set_num_threads torch.device torch.Generator torch.no_grad torch.enable_grad torch.inference_mode "
    "torch.set_grad_enabled torch.autocast torch.cuda.amp.autocast torch.rand torch.randn torch.randint torch.randperm "
    "random.random random.randint random.randrange random.uniform random.gauss numpy.random.rand numpy.random.randn "
    "numpy.random.randint numpy.random.uniform numpy.random.normal numpy.random.permutation torch.zeros torch.ones "
    "torch.empty torch.full torch.arange torch.linspace torch.eye torch.get_rng_state random.getstate"
)
_PURE_CALLS = _words(
    "copy.copy random.choice random.choices random.sample numpy.random.choice torch.bernoulli torch.multinomial "
    "torch.normal torch.utils.data.DataLoader torch.utils.data.TensorDataset torch.utils.data.random_split "
    "torch.utils.data.Subset"
)
_FIRST_CALLS = _words(
    "random.shuffle numpy.random.shuffle numpy.copyto numpy.put numpy.place numpy.putmask numpy.fill_diagonal "
    "heapq.heappush heapq.heappop heapq.heapify bisect.insort torch.nn.utils.clip_grad_norm_ "
    "torch.nn.utils.clip_grad_value_ torch.nn.utils.clip_grad_norm"
)
_CALLS_BACK = _words("functools.reduce itertools.starmap torch.compile torch.vmap torch.func numpy.vectorize")
_SETTERS = ("torch.set_", "torch.use_", "torch.compile", "torch.jit", "torch.load", "torch.func", "torch.vmap")

_DRAWS = _words(
    "rand randn randint randperm rand_like randn_like randint_like bernoulli multinomial normal poisson dropout "
    "dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout rrelu gumbel_softmax shuffle choice choices "
    "sample random uniform gauss randrange permutation normal_ uniform_ bernoulli_ exponential_ random_ geometric_ "
    "cauchy_ log_normal_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_ trunc_normal_ orthogonal_ "
    "random_split seed manual_seed manual_seed_all standard_normal integers beta gamma rsample iter"
)


def draws(path: str) -> bool:
    """True if a call of this name or dotted path may use or set a random number generator."""
    return path.rpartition(".")[2] in _DRAWS or _makes_layer(path)


def _makes_layer(path: str) -> bool:
    """True for the constructors of layers and losses, which initialise parameters."""
    return path.startswith("torch.nn.") and path.rpartition(".")[2][:1].isupper()


def _makes_optimizer(path: str) -> bool:
    return path.startswith("torch.optim.") and path.count(".") == 2 and path.rpartition(".")[2][:1].isupper()


def keeps_arguments(name: str) -> bool:
    """True if a method of this name puts its arguments into its receiver."""
    return name in _KEEPING_METHODS


def builtin(name: str) -> Kind:
    """What a builtin does; `map`, `filter`, `eval` and the like run code that is not known."""
    if name in _FRESH_BUILTINS or name.endswith(("Error", "Exception", "Warning")):
        return Kind.FRESH
    if name in _PURE_BUILTINS:
        return Kind.PURE
    return Kind.FIRST if name in _FIRST_BUILTINS else Kind.UNKNOWN


def method(name: str, arguments: int = 0) -> Kind:
    """What a library object's method of this name does when it is given so many arguments, whatever the object."""
    # A dict's get() takes a key and a tensor's log() nothing; a queue's and a logger's are other ones.
    if (name == "get" and not arguments) or (name == "log" and arguments):
        return Kind.UNKNOWN
    if name in _FRESH_METHODS:
        return Kind.FRESH
    if name in _PURE_METHODS:
        return Kind.PURE
    # PyTorch's convention: a trailing underscore works in place.
    in_place = name.endswith("_") and not name.endswith("__")
    return Kind.RECEIVER if in_place or name in _RECEIVER_METHODS else Kind.UNKNOWN


def library(path: str) -> Kind:
    """What a function of a library does, by its dotted path with import aliases resolved."""
    if path in _FRESH_CALLS:
        return Kind.FRESH
    if path in _PURE_CALLS or _makes_layer(path) or _makes_optimizer(path):
        return Kind.PURE
    name = path.rpartition(".")[2]
    if path in _FIRST_CALLS or path.startswith("torch.nn.init.") or (path.startswith("torch.") and name.endswith("_")):
        return Kind.FIRST
    if path in _CALLS_BACK or path.startswith(_SETTERS):
        return Kind.UNKNOWN
    return Kind.PURE if path.rpartition(".")[0] in _PURE_MODULES else Kind.UNKNOWN
