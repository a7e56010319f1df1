GAIN = 1.5
HISTORY = []
LOADS = globals().get("LOADS", 0) + 1


def penalty(weight):
    HISTORY.append(round(weight.norm().item(), 6))
    return 0.01 * weight.square().mean() * len(HISTORY)
