#!/usr/bin/env bash
# Record a training script, add a log statement to it afterwards, and get its values for the run that is over.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/digits.py" "$work/train.py"
cd "$work"
export OMP_NUM_THREADS=1

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say '$ flor record train.py'
"$bin/flor" record train.py

say '# The run is over. Now we wish that we had logged the norm of the weights after each epoch:'
sed -i 's/^    model.eval()$/    print("weights", epoch, model[0].weight.norm().item())\n&/' train.py
diff "$here/digits.py" train.py || true

say '$ flor replay'
"$bin/flor" replay

say '$ flor logs | head'
"$bin/flor" logs | head -n 12
