package draw

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/millrace-go/millrace/internal/draws"
)

// Leaf stands for a person in what is published.
type Leaf [32]byte

// Published is what an operator publishes of a draw, besides the leaves.
type Published struct {
	Event      string    `json:"event"`
	Opens      time.Time `json:"opens"`
	Commitment Hex       `json:"commitment"`
	Beacon     string    `json:"beacon"` // the name of it; empty: there is none
	Count      int       `json:"count"`  // of the leaves; 0 until joining has frozen
	Root       Hex       `json:"root,omitempty"`
	Seed       Hex       `json:"seed,omitempty"`
	Value      Hex       `json:"beaconValue,omitempty"`
}

// Hex is bytes that are hexadecimal in JSON.
type Hex []byte

// MarshalText writes lower case.
func (h Hex) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

// UnmarshalText reads what MarshalText writes.
func (h *Hex) UnmarshalText(text []byte) (err error) {
	if *h, err = hex.AppendDecode(nil, text); err != nil {
		return fmt.Errorf("draw: %.80q is not hexadecimal: %w", text, err)
	}
	return nil
}

// ErrBroken says that what was published contradicts itself; the text of an error says how.
var ErrBroken = errors.New("draw: broken")

// errUnfinished says that something is not published yet.
var errUnfinished = errors.New("draw: not finished")

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrBroken}, args...)...)
}

// Verify checks what was published with the leaves, and returns the place of each leaf that
// follows from it: from 1, and 0 for one that is not among the leaves. The error is
// [ErrBroken], or says what is not published yet.
func (p Published) Verify(leaves []Leaf) (placeOf func(Leaf) int, err error) {
	switch {
	case len(p.Commitment) != draws.Size:
		return nil, broken("the commitment has %d bytes; SHA-256 has %d", len(p.Commitment), draws.Size)
	case len(p.Root) == 0:
		return nil, fmt.Errorf("%w: no root is published yet: joining has not frozen", errUnfinished)
	case len(p.Seed) == 0:
		return nil, fmt.Errorf("%w: the seed is not published yet", errUnfinished)
	case len(p.Seed) != draws.Size:
		return nil, broken("the seed has %d bytes, and should have %d", len(p.Seed), draws.Size)
	}
	if c := draws.Commitment(p.Seed); !bytes.Equal(c[:], p.Commitment) {
		return nil, broken("SHA-256 of the seed is %x, and the commitment is %x: the seed was exchanged after the commitment was published", c, []byte(p.Commitment))
	}
	switch {
	case p.Beacon == "" && len(p.Value) > 0:
		return nil, broken("a value of a beacon was used, and no beacon was named when the opening was set")
	case p.Beacon != "" && len(p.Value) == 0:
		return nil, broken("the beacon %q was named when the opening was set, and its value is missing", p.Beacon)
	case p.Count != len(leaves):
		return nil, broken("%d leaves were published, and %d are here", p.Count, len(leaves))
	}
	for i := 1; i < len(leaves); i++ {
		switch c := bytes.Compare(leaves[i-1][:], leaves[i][:]); {
		case c == 0:
			return nil, broken("the leaf %x stands twice, at lines %d and %d", leaves[i], i, i+1)
		case c > 0:
			return nil, broken("the leaves are not in order: line %d is below line %d", i+1, i)
		}
	}
	if root := draws.Root(leaves); !bytes.Equal(root[:], p.Root) {
		return nil, broken("the root of the leaves is %x, and %x was published: leaves were added, removed or changed after the freeze", root, []byte(p.Root))
	}
	order := draws.NewOrder(p.Seed, p.Value, leaves)
	return func(l Leaf) int {
		place, _ := order.Place(l)
		return place
	}, nil
}

// ReadLeaves reads leaves as they are published: hexadecimal, one a line.
func ReadLeaves(r io.Reader) (leaves []Leaf, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		leaf, err := ParseLeaf(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("draw: line %d of the leaves: %w", len(leaves)+1, err)
		}
		leaves = append(leaves, leaf)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("draw: read line %d of the leaves: %w", len(leaves)+1, err)
	}
	return leaves, nil
}

// ParseLeaf reads one leaf, of 64 hexadecimal digits.
func ParseLeaf(text string) (l Leaf, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != draws.Size {
		return l, fmt.Errorf("%.80q is no leaf, which has %d hexadecimal digits", text, 2*draws.Size)
	}
	copy(l[:], raw)
	return l, nil
}

// String is the leaf as it is published.
func (l Leaf) String() string { return hex.EncodeToString(l[:]) }
