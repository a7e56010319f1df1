"""Names for runs that people can say: two words, drawn without touching any of the user's random streams."""

from __future__ import annotations

import os

_ADJECTIVES = """
    able airy amber ample apt arctic autumn azure balmy bold brave breezy bright brisk broad bronze calm candid
    careful cheery chilly civil clear clever coastal copper coral cosmic cosy crisp curious daring dapper deft dewy
    eager early earnest easy elder fair famous fancy fearless fern fleet fluent fond frank free fresh frosty gentle
    giddy gilded glad golden good grand green hale handy happy hardy hazel hearty honest humble icy indigo ivory
    jolly jovial keen kind lively loyal lucid lucky lunar lush mellow merry mighty mild minty misty modest mossy
    neat nimble noble novel olive opal open patient peachy placid plucky polite prime proud quick quiet rapid ready
    regal robust rosy royal ruby rustic sage sandy serene sharp shiny silent silver sleek smart snowy solar solid
    spry stable steady stellar stout sunny sure swift tall tame tender thrifty tidy topaz tranquil trusty upbeat
    vivid warm wise witty young zesty
"""
_ANIMALS = """
    addax alpaca ant antelope auk badger barbet bat bear beaver bee beetle bison bittern boar bobcat bonobo buck
    bunting camel caracal caribou carp cat chamois cheetah chough civet clam cod colt condor coot corgi cougar cow
    coyote crab crane cricket crow cub curlew deer dingo dipper dog dolphin donkey dove drake duck dunlin eagle eel
    egret eland elk emu ermine falcon fawn ferret finch fox frog gannet gazelle gecko gibbon goat goose gopher grebe
    grouse gull hare hawk hen heron herring hippo hoopoe hornet horse hound ibex ibis iguana impala jackal jaguar
    jay kestrel kite kiwi koala kudu lamb lark lemur lemming leopard linnet lion llama lobster loon lynx macaw magpie
    manatee marlin marmot marten mink minnow mole moose moth mouse mule newt numbat ocelot okapi orca oriole oryx
    osprey otter owl ox oyster panda panther parrot perch petrel pika pike plover pony puffin puma quail rabbit
    raven ray robin rook salmon seal shrew shrike skua skunk sloth snail snipe sparrow squid stag starling stoat
    stork swan swift tapir teal tern thrush tiger toad trout tuna turtle viper vole walrus wasp weasel whale wolf
    wombat wren yak zebra
"""
ADJECTIVES = tuple(_ADJECTIVES.split())
ANIMALS = tuple(_ANIMALS.split())


def propose(*, numbered: bool = False) -> str:
    """A name such as `brave-otter`; numbered, as `brave-otter-4711`, for stores where the short ones run out."""
    name = f"{ADJECTIVES[_below(len(ADJECTIVES))]}-{ANIMALS[_below(len(ANIMALS))]}"
    return f"{name}-{1000 + _below(9000)}" if numbered else name


def _below(limit: int) -> int:
    """A number from the system's own source: `random` belongs to the user, and a clock gives two ranks the same."""
    return int.from_bytes(os.urandom(8), "little") % limit
