# Checks a draw, and prints the place of a leaf: python3 verify-draw.py draw.json leaves.txt LEAF
# Without LEAF it prints the place of each leaf, in the order of leaves.txt.
import hashlib, json, sys

def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()

draw = json.load(open(sys.argv[1]))
leaves = [bytes.fromhex(line) for line in open(sys.argv[2])]
seed, root = bytes.fromhex(draw["seed"]), bytes.fromhex(draw["root"])
beacon = bytes.fromhex(draw.get("beaconValue", ""))

if sha256(seed).hex() != draw["commitment"]:
    sys.exit("the seed is not that of the commitment")
if leaves != sorted(set(leaves)) or len(leaves) != draw["count"]:
    sys.exit("the leaves are not in order, not once each, or not all here")
if sha256(*leaves) != root:
    sys.exit("the leaves are not those of the root")
order = sorted(leaves, key=lambda leaf: sha256(seed, beacon, root, leaf))
places = {leaf: place for place, leaf in enumerate(order, 1)}
for leaf in [bytes.fromhex(text) for text in sys.argv[3:]] or leaves:
    print(places[leaf])
