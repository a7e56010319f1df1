"""What training programs do besides training: small pieces of source text, each with its own names.

An idea has lines for up to six places: `top` of the file, `setup` before the loops, the beginning of an outer
iteration (`outer`), behind the step of an inner one (`inner`), the end of an outer one (`after`), and the report
at the end (`final`). Names bound in `setup` are the program's state, wherever the generator puts them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Idea:
    """One piece."""

    name: str
    top: str = ""
    setup: str = ""
    outer: str = ""
    inner: str = ""
    after: str = ""
    final: str = ""
    inline: bool = False  # `after` reads what the inner loop left over, so that loop can't be in a function


def named(*names: str) -> list[Idea]:
    """The ideas of these names."""
    return [idea for name in names for idea in (*IDIOMATIC, *WILD) if idea.name == name]


IDIOMATIC = (
    Idea("history", setup="history = []", after="history.append(round(value, 6))", final="print('history', history)"),
    Idea("metrics", setup="metrics = collections.defaultdict(list)", inner="metrics['loss'].append(loss.item())",
         after="metrics['epoch'].append(value)", final="print(sum(metrics['loss']), metrics['epoch'])"),
    Idea("global step", setup="global_step = 0", inner="global_step += 1", after="print('step', global_step)"),
    Idea("window", setup="window = collections.deque(maxlen=3)", inner="window.append(loss.item())",
         after="print('smooth', sum(window) / len(window), window.maxlen)"),
    Idea("best", setup="best, best_state = float('inf'), None",
         after="if value < best:\n    best, best_state = value, copy.deepcopy(model.state_dict())",
         final="print('best', best, sum(v.double().sum().item() for v in best_state.values()))"),
    Idea("patience", setup="bad, floor = 0, float('inf')",
         after="bad, floor = (0, value) if value < floor - 0.02 else (bad + 1, floor)\nif bad >= 2:\n"
         "    print('early stop')\n    break"),
    Idea("noise", inner="noise = torch.randn_like(x).sum().item()\ntotal += 0.001 * noise"),
    Idea("numpy draw", inner="if np.random.rand() < 0.3:\n    total += 0.5", after="print(np.random.randint(1000))"),
    Idea("python draw", setup="picks = []", inner="picks.append(random.randrange(100))", final="print(picks)"),
    Idea("generator", setup="rng = np.random.default_rng(7)", inner="jitter = rng.normal()",
         after="print('rng', rng.integers(10**6), round(float(rng.normal()), 9))"),
    Idea("own random", setup="dice = random.Random(5)", after="print('dice', dice.random())"),
    Idea("torch generator", setup="source = torch.Generator().manual_seed(9)",
         inner="mask = torch.rand(2, generator=source)", after="print('mask', torch.rand(1, generator=source).item())"),
    Idea("clip", inner="norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
    Idea("meter", top="class Meter:\n    def __init__(self):\n        self.sum = self.n = 0.0\n"
         "    def update(self, v):\n        self.sum += v\n        self.n += 1\n"
         "    @property\n    def mean(self):\n        return self.sum / max(self.n, 1)",
         setup="meter = Meter()", inner="meter.update(loss.item())", after="print('meter', meter.mean, meter.n)"),
    Idea("ema", setup="ema = {k: v.clone() for k, v in model.state_dict().items()}",
         inner="with torch.no_grad():\n    for k, v in model.state_dict().items():\n"
         "        if v.dtype.is_floating_point:\n            ema[k].mul_(0.9).add_(v, alpha=0.1)",
         after="print('ema', sum(v.double().sum().item() for v in ema.values()))"),
    Idea("averaged model", setup="averaged = torch.optim.swa_utils.AveragedModel(model)",
         after="averaged.update_parameters(model)\nprint('averaged', int(averaged.n_averaged))",
         final="print(sum(p.sum().item() for p in averaged.parameters()))"),
    Idea("step lr", setup="scheduler = torch.optim.lr_scheduler.StepLR(opt, 2, gamma=0.5)",
         after="scheduler.step()\nprint('lr', opt.param_groups[0]['lr'])"),
    Idea("cosine", setup="cosine = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)", inner="cosine.step()",
         after="print('lr', cosine.get_last_lr())"),
    Idea("plateau", setup="plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0, factor=0.3)",
         after="plateau.step(value)\nprint('lr', opt.param_groups[0]['lr'])"),
    Idea("warm up", setup="base_lr = opt.param_groups[0]['lr']",
         outer="for group in opt.param_groups:\n    group['lr'] = base_lr * (epoch + 1) / 3"),
    Idea("freeze", after="if epoch == 1:\n    for p in list(model.parameters())[:1]:\n        p.requires_grad_(False)\n"
         "        p.grad = None"),
    Idea("unfreeze", outer="if epoch == 0:\n    next(model.parameters()).requires_grad_(False)\nif epoch == 2:\n"
         "    next(model.parameters()).requires_grad_(True)"),
    Idea("add group", setup="extra = nn.Parameter(torch.ones(2))",
         after="if epoch == 1:\n    extra.grad = torch.ones(2)\n    opt.add_param_group({'params': [extra]})\n"
         "    print('groups', len(opt.param_groups))", final="print(extra)"),
    Idea("confusion", setup="confusion = np.zeros((3, 3), dtype=int)",
         inner="confusion[int(y.sum()) % 3, int(out.detach().argmax()) % 3] += 1", after="print(confusion.tolist())"),
    Idea("buffer", setup="memory = collections.deque(maxlen=7)",
         inner="memory.append((round(loss.item(), 5), i))",
         after="print('sample', random.sample(list(memory), min(3, len(memory))))"),
    Idea("counter", setup="seen = collections.Counter()", inner="seen.update(y.flatten().tolist()[:4])",
         after="print(sorted(seen.items()))"),
    Idea("loss left over", after="print('last', loss.item(), tuple(x.shape))", inline=True),
    Idea("evaluate", top="def evaluate(model, X, Y):\n    model.eval()\n    correct = 0\n    with torch.no_grad():\n"
         "        for k in range(0, len(X), 8):\n            hit = model(X[k:k + 8]).argmax(-1) == Y[k:k + 8]\n"
         "            correct += hit.sum().item()\n    return correct / len(X)",
         outer="model.train()", after="accuracy = evaluate(model, X, Y)\nprint('accuracy', accuracy)"),
    Idea("accumulate", setup="pending = 0", inner="pending += 1\nif pending % 2:\n    kept_grad = [p.grad.norm().item() "
         "for p in model.parameters() if p.grad is not None]", after="print('pending', pending)"),
    Idea("scaler", setup="scaler = torch.amp.GradScaler('cpu', init_scale=4.0)",
         inner="scaled = scaler.scale(loss.detach())\nscaler.update(2.0 + scaled.item() % 3)",
         after="print('scale', scaler.get_scale())"),
    Idea("config", top="@dataclasses.dataclass\nclass Config:\n    lr: float = 0.1\n    seen: int = 0\n"
         "    names: list = dataclasses.field(default_factory=list)",
         setup="config = Config()", inner="config.seen += 1", after="config.names.append(f'e{epoch}')\nprint(config)"),
    Idea("reuse state", setup="saved = None", after="if epoch == 1:\n    saved = copy.deepcopy(opt.state_dict())\n"
         "if epoch == 3 and saved is not None:\n    opt.load_state_dict(saved)"),
    Idea("second optimizer", setup="bias = nn.Parameter(torch.zeros(3))\nopt2 = torch.optim.Adam([bias], lr=0.05)",
         inner="opt2.zero_grad()\n((bias - loss.item()) ** 2).sum().backward()\nopt2.step()", after="print(bias.tolist())"),
    Idea("hidden", setup="hidden = torch.zeros(2, 3)", inner="hidden = torch.tanh(hidden + loss.detach())",
         after="print('hidden', hidden.sum().item())"),
    Idea("progress", inner="bar = tqdm(range(2), disable=True)\nfor _ in bar:\n    pass"),
    Idea("targets", setup="target = copy.deepcopy(model)",
         after="if epoch % 2:\n    target.load_state_dict(model.state_dict())\n"
         "print('target', sum(p.sum().item() for p in target.parameters()))"),
    Idea("named args", setup="args = argparse.Namespace(lr=0.1, steps=0, tags=[])",
         inner="args.steps += 1", after="args.tags.append(args.steps)\nprint(vars(args))"),
)  # fmt: skip

WILD = (
    Idea("alias", setup="alias = shared = []", inner="alias.append(i)", after="shared.append(-1)\nprint(len(alias), alias is shared)",
         final="print(alias)"),
    Idea("alias dict", setup="box = {'a': [0], 'b': None}\nbox['b'] = box['a']", inner="box['a'][0] += 1",
         after="print(box, box['a'] is box['b'])\nif epoch == 2:\n    box['b'] = list(box['a'])"),
    Idea("cycle", setup="ring = [1]\nring.append(ring)", inner="ring[0] += 1", after="print(ring[0], ring[1] is ring)"),
    Idea("row view", setup="table = torch.zeros(4, 3)\nrow = table[1]", inner="row.add_(loss.detach())",
         after="print(table.sum().item(), row.sum().item())\ntable[epoch % 4] += 1"),
    Idea("data write", after="next(model.parameters()).data.mul_(0.99)\nnext(model.parameters()).data[0] = 0.01"),
    Idea("shared memory", setup="array = np.zeros(5, dtype=np.float32)\ntensor = torch.from_numpy(array)",
         inner="array[i % 5] += 1", after="tensor.mul_(1.5)\nprint(array.tolist(), tensor.tolist())"),
    Idea("numpy view", setup="grid = np.arange(12.0).reshape(3, 4)\ncolumn = grid[:, 1]", inner="column += 0.5",
         after="print(grid.sum(), column.tolist())"),
    Idea("class attribute", top="class Tally:\n    total = 0\n    seen = []\n    @classmethod\n    def add(cls, v):\n"
         "        cls.total += v\n        cls.seen.append(v)", inner="Tally.add(i)", after="print(Tally.total, len(Tally.seen))"),
    Idea("default argument", top="def remember(v, kept=[]):\n    kept.append(v)\n    return len(kept)",
         inner="count_kept = remember(i)", after="print('remember', remember(epoch))"),
    Idea("function attribute", top="def ping():\n    ping.calls = getattr(ping, 'calls', 0) + 1\n    return ping.calls",
         inner="ping()", after="print('ping', ping())"),
    Idea("closure", top="def make_counter():\n    n = 0\n    log = []\n    def bump(k=1):\n        nonlocal n\n        n += k\n"
         "        log.append(n)\n        return n\n    return bump",
         setup="bump = make_counter()", inner="bump(2)", after="print('bump', bump())"),
    Idea("generator object", setup="squares = (k * k for k in itertools.count())", after="print('square', next(squares))"),
    Idea("generator ends", setup="lines = (k + 1 for k in range(99))", inner="line = next(lines)", after="print('line', line)",
         inline=True),
    Idea("cycle iterator", setup="wheel = itertools.cycle([1, 2, 3])", inner="turned = next(wheel)", after="print(next(wheel))"),
    Idea("list iterator", setup="feed = iter(list(range(500)))", inner="fed = next(feed)", after="print('feed', next(feed))"),
    Idea("count", setup="ticks = itertools.count(3)", inner="next(ticks)", after="print('tick', next(ticks))"),
    Idea("live loader", top="def again(loader):\n    return iter(loader)",
         setup="other = DataLoader(TensorDataset(torch.arange(9.0)), batch_size=2, shuffle=True)\nlive = iter(other)",
         inner="try:\n    drawn = next(live)[0]\nexcept StopIteration:\n    live = iter(other)\n    drawn = next(live)[0]",
         after="print('live', [b.tolist() for b in [next(iter(other))[0]]])"),
    Idea("unbound", after="try:\n    print('late', late_name)\nexcept (NameError, AttributeError):\n    print('unbound')\n"
         "if epoch >= 1:\n    late_name = epoch * 10"),
    Idea("deleted", setup="maybe = 5", after="if epoch == 1:\n    del maybe\nelif epoch == 3:\n    maybe = 9\n"
         "try:\n    print('maybe', maybe)\nexcept (NameError, AttributeError):\n    print('deleted')"),
    Idea("swap", setup="left, right = [1], [2]", inner="left.append(i)", after="left, right = right, left\nprint(left, right)"),
    Idea("swap models", setup="one, two = nn.Linear(2, 2), nn.Linear(2, 2)\nsgd = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)",
         inner="sgd.zero_grad()\none(torch.ones(2)).sum().backward()\nsgd.step()",
         after="one, two = two, one\nprint(one.weight.sum().item(), two.weight.sum().item())"),
    Idea("replaced", setup="bag = types.SimpleNamespace(items=[1], last=None)", inner="bag.items = bag.items[-3:] + [i]",
         after="bag.last = bag.items\nprint(bag)"),
    Idea("non-leaf", after="left_over = (next(model.parameters()) ** 2).sum()\nif epoch:\n    print('was', previous_leaf)\n"
         "previous_leaf = left_over"),
    Idea("graph kept", setup="carried = torch.zeros(1)", inner="carried = carried * 0.5 + loss",
         after="print('carried', carried.item())\ncarried = carried.detach()"),
    Idea("graph over epochs", setup="chain_loss = None", after="current = (next(model.parameters()) ** 2).sum()\n"
         "chain_loss = current if chain_loss is None else chain_loss.detach() * 0.5 + current\nprint('chain', chain_loss.item())"),
    Idea("set", setup="bucket = set()", inner="bucket.add((i * 7 + epoch) % 11)", after="print(sorted(bucket))\nbucket.discard(epoch)"),
    Idea("word set", setup="words = set()", inner="words.add(f'w{(i * 5 + epoch) % 9}')", after="print(list(words))\nif epoch % 2:\n    words.pop()"),
    Idea("dict order", setup="order = {'a': 1, 'b': 2, 'c': 3}", after="first = next(iter(order))\norder[first] = order.pop(first) + 1\nprint(order)"),
    Idea("ordered dict", setup="lru = collections.OrderedDict(a=1, b=2, c=3)", inner="lru.move_to_end('abc'[i % 3])", after="print(list(lru))"),
    Idea("heap", setup="heap = []", inner="heapq.heappush(heap, (round(loss.item(), 6), i))", after="print(heapq.heappop(heap))"),
    Idea("trip count", inner="spins = 0\nwhile random.random() < 0.5 and spins < 6:\n    spins += 1\ntotal += spins * 0.01"),
    Idea("while loss", after="rounds = 0\nwhile (model(X[:4]).sum().item() * 1e3) % 7 > 2 and rounds < 5:\n"
         "    rounds += 1\n    with torch.no_grad():\n        next(model.parameters()).mul_(1.01)\nprint('rounds', rounds)"),
    Idea("recursion", top="def descend(depth, acc):\n    for k in range(2):\n        acc.append(depth * 10 + k)\n"
         "        if depth:\n            descend(depth - 1, acc)\n    return acc",
         setup="walked = []", after="descend(2, walked)\nprint(len(walked), walked[-3:])"),
    Idea("for else", setup="searches = []", after="for k in range(5):\n    if k * epoch > 4:\n        searches.append(k)\n        break\n"
         "else:\n    searches.append(-1)\nprint(searches)"),
    Idea("early return", top="def find(limit, log):\n    for k in range(9):\n        for j in range(3):\n            log.append(k * j)\n"
         "            if k * j > limit:\n                return k, j\n    return None",
         setup="found_log = []", after="print('find', find(epoch * 2, found_log), len(found_log))"),
    Idea("finally", setup="finals = []", after="for k in range(3):\n    try:\n        if k == 1:\n            continue\n        finals.append(k)\n"
         "    finally:\n        finals.append('f')\nprint(finals[-4:])"),
    Idea("stop exception", top="class Stop(Exception):\n    pass",
         after="try:\n    for k in range(4):\n        if k == epoch:\n            raise Stop(k)\n        total_k = k\n"
         "except Stop as stop:\n    print('stopped', stop.args)"),
    Idea("slots", top="class Point:\n    __slots__ = ('x', 'y')\n    def __init__(self):\n        self.x = 0",
         setup="point = Point()", inner="point.x += 1", after="if epoch == 1:\n    point.y = 3\nprint(point.x, hasattr(point, 'y'))"),
    Idea("change class", top="class Cold:\n    heat = 0\nclass Hot(Cold):\n    heat = 1", setup="thing = Cold()",
         after="if epoch == 1:\n    thing.__class__ = Hot\nprint(type(thing).__name__, thing.heat)"),
    Idea("hook", setup="fired = []\nhandle = model.register_forward_hook(lambda m, a, o: fired.append(len(fired)))",
         after="print('fired', len(fired))"),
    Idea("patched forward", setup="calls = [0]", top="def patched(model, calls):\n    old = model.forward\n    def forward(x):\n"
         "        calls[0] += 1\n        return old(x)\n    return forward",
         after="if epoch == 1:\n    model.forward = patched(model, calls)\nprint('calls', calls)"),
    Idea("new optimizer", after="if epoch == 1:\n    opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.5)"),
    Idea("growing", setup="stack = nn.ModuleList([nn.Linear(2, 2)])",
         after="if epoch < 3:\n    stack.append(nn.Linear(2, 2))\nz = torch.ones(1, 2)\nfor layer in stack:\n    z = layer(z)\nprint('grown', len(stack), z.sum().item())"),
    Idea("restored rng", setup="rng_kept = torch.get_rng_state()", after="if epoch == 2:\n    torch.set_rng_state(rng_kept)\n"
         "rng_kept = torch.get_rng_state()\nprint(torch.rand(1).item())"),
    Idea("fork rng", after="with torch.random.fork_rng():\n    torch.manual_seed(epoch)\n    inside = torch.rand(1).item()\nprint(inside, torch.rand(1).item())"),
    Idea("random state", setup="dice_state = random.getstate()", after="if epoch % 2:\n    random.setstate(dice_state)\nprint(random.random())"),
    Idea("old numpy", setup="mill = np.random.RandomState(3)", inner="milled = mill.rand()", after="print('mill', mill.randint(1000), mill.randn())"),
    Idea("bytes", setup="page = bytearray(8)\npages = array.array('d', [0.0] * 4)", inner="page[i % 8] += 1\npages[i % 4] += 0.5", after="print(bytes(page), list(pages))"),
    Idea("string io", setup="text = io.StringIO()", inner="text.write(f'{i},')", after="print(len(text.getvalue()), text.tell())"),
    Idea("cache", top="@functools.lru_cache(maxsize=None)\ndef slow(n):\n    return n * 2", inner="slow(i)", after="print('slow', slow(epoch))"),
    Idea("partial", setup="basket = []\nput = functools.partial(basket.append)", inner="put(i)", after="print(len(basket))"),
    Idea("weak", top="class Node:\n    def __init__(self):\n        self.n = 0", setup="node = Node()\nlink = weakref.ref(node)",
         inner="link().n += 1", after="print(node.n, link() is node)"),
    Idea("enum", top="class Phase(enum.Enum):\n    WARM = 1\n    MAIN = 2", setup="phase = Phase.WARM",
         after="phase = Phase.MAIN if epoch > 1 else phase\nprint(phase)"),
    Idea("proxy", top="class Proxy:\n    def __init__(self, inner):\n        object.__setattr__(self, 'inner', inner)\n"
         "    def __getattr__(self, name):\n        return getattr(self.inner, name)\n    def __setattr__(self, name, value):\n"
         "        setattr(self.inner, name, value)", setup="proxy = Proxy(types.SimpleNamespace(n=0))", inner="proxy.n += 1", after="print('proxy', proxy.n)"),
    Idea("iadd", top="class Sum:\n    def __init__(self):\n        self.parts = []\n    def __iadd__(self, v):\n        self.parts.append(v)\n        return self",
         setup="acc = Sum()", inner="acc += i", after="print(len(acc.parts))"),
    Idea("global dict", after="globals()['made_here'] = globals().get('made_here', 0) + epoch\nprint('made', made_here)"),
    Idea("grad mode", after="torch.set_grad_enabled(epoch % 2 == 0)\nprint('grad', torch.is_grad_enabled())\ntorch.set_grad_enabled(True)"),
    Idea("grad left", inner="first_grad = next(model.parameters()).grad", after="g = next(model.parameters()).grad\nprint('grad', None if g is None else g.norm().item())"),
    Idea("parameter swapped", setup="spare = nn.Parameter(torch.ones(2, 2))\nspares = [spare, nn.Parameter(torch.zeros(2, 2))]",
         after="spares.reverse()\nwith torch.no_grad():\n    spare.add_(epoch)\nprint(spares[0].sum().item(), spares[1] is spare)"),
    Idea("expanded", setup="base = torch.zeros(3, 1)\nwide = base.expand(3, 4)", inner="base.add_(0.25)", after="print(wide.sum().item())"),
    Idea("resized", setup="roll = torch.zeros(1)", after="roll = torch.cat([roll, torch.tensor([float(value)])])\nprint(roll.shape, roll.sum().item())"),
    Idea("half", setup="small = torch.zeros(3, dtype=torch.bfloat16)", inner="small += 0.1", after="print(small.tolist())"),
    Idea("nested", setup="nest = {'l': [{'t': (torch.zeros(2), [0])}]}", inner="nest['l'][0]['t'][1][0] += 1\nnest['l'][0]['t'][0].add_(0.5)",
         after="print(nest)"),
    Idea("big ints", setup="big = 2 ** 70", inner="big = big * 3 + i", after="print(big % (10 ** 9 + 7))"),
    Idea("complex", setup="spin = 1j", inner="spin *= complex(0.6, 0.8)", after="print(spin)"),
    Idea("object array", setup="cells = np.array([[1], None], dtype=object)", inner="cells[0].append(i)", after="cells[1] = epoch\nprint(len(cells[0]), cells[1])"),
    Idea("date", setup="day = datetime.date(2020, 1, 1)", after="day += datetime.timedelta(days=1)\nprint(day)"),
    Idea("context", top="class Scope:\n    depth = 0\n    def __enter__(self):\n        Scope.depth += 1\n        return self\n"
         "    def __exit__(self, *_):\n        self.left = Scope.depth", setup="scope = Scope()", inner="with scope:\n    pass", after="print('scope', Scope.depth, scope.left)"),
    Idea("generator function loop", top="def batches(n):\n    for k in range(n):\n        yield k * random.random()",
         after="for b in batches(3):\n    total_b = b\nprint('batches', total_b)"),
    Idea("two loops", top="def sweep(rows):\n    s = 0.0\n    for r in rows:\n        s += float(r) * random.random()\n    return s",
         after="print('sweeps', sweep(range(4)), sweep(X[:3, 0].tolist() if X.dim() > 1 else [1.0]))"),
    Idea("dead temporaries", inner="scratch = torch.randn(2000)\nscratch2 = [scratch] * 3", after="scratch3 = (k for k in range(3))"),
    Idea("module flag", after="for m in model.modules():\n    if isinstance(m, nn.Dropout):\n        m.p = 0.1 + 0.1 * (epoch % 3)\nmodel.train(epoch % 2 == 0)"),
    Idea("buffer attribute", outer="model.register_buffer('ticks', torch.tensor([float(epoch)]), persistent=False)", after="print(model.ticks)"),
    Idea("late view", setup="late_base = late_row = None", after="if epoch == 1:\n    late_base = torch.zeros(4, 3)\n"
         "    late_row = late_base[1]\nif late_row is not None:\n    late_row.add_(1)\n    print('late', late_base.sum().item())"),
    Idea("plain attribute", outer="model.note = getattr(model, 'note', 0) + 1", after="print('note', model.note)"),
)  # fmt: skip
