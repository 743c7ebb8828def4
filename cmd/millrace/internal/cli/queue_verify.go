package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/queue/draw"
)

// verifyFlags are the files that were published, and what the user has kept of them.
type verifyFlags struct{ draw, leaves, commitment, beacon string }

func (a *app) queueVerifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use: "verify [LEAF…]", Short: "Check the draw of an opening, and places in it, from what was published",
		Long: "verify recomputes the order of an opening from the files that its operator has published, and prints the place of each leaf. It asks no server. " +
			"Give --commitment as it was published when the opening was set, and --beacon-value as you have it from the beacon itself: then no file is believed. " +
			"docs/on-sale.md says what is published, and when; docs/verify-draw.py does the same in Python.",
		Example: "  millrace queue verify --draw draw.json --leaves leaves.txt 5f2c…\n" +
			"  millrace queue verify --draw draw.json --leaves leaves.txt --commitment 9e107d9d… --beacon-value 8d5e… 5f2c…",
		RunE: func(_ *cobra.Command, args []string) error { return a.queueVerify(f, args) },
	}
	cmd.Flags().StringVar(&f.draw, "draw", "", "file of the draw, JSON: GET /draw/EVENT")
	cmd.Flags().StringVar(&f.leaves, "leaves", "", "file of the leaves, one a line: GET /draw/EVENT/leaves")
	cmd.Flags().StringVar(&f.commitment, "commitment", "", "the commitment that you have kept, hexadecimal")
	cmd.Flags().StringVar(&f.beacon, "beacon-value", "", "the value of the beacon that you got from elsewhere, hexadecimal")
	a.jsonFlag(cmd)
	for _, name := range []string{"draw", "leaves"} {
		offersFiles(cmd, name)
	}
	return cmd
}

// verifyReport is what queue verify prints as JSON.
type verifyReport struct {
	Event  string        `json:"event"`
	Count  int           `json:"count"`
	Beacon string        `json:"beacon"` // empty: without one
	Places []placeReport `json:"places"`
}

type placeReport struct {
	Leaf  string `json:"leaf"`
	Place int    `json:"place"`
}

func (a *app) queueVerify(f verifyFlags, args []string) error {
	if f.draw == "" || f.leaves == "" {
		return usage("name the published files with --draw and --leaves")
	}
	wanted := make([]draw.Leaf, len(args))
	for i, arg := range args {
		var err error
		if wanted[i], err = draw.ParseLeaf(arg); err != nil {
			return usageError{err}
		}
	}
	p, leaves, err := readDraw(f)
	if err != nil {
		return err
	}
	if err := f.compare(p); err != nil {
		return err
	}
	placeOf, err := p.Verify(leaves)
	if err != nil {
		return err
	}
	report := verifyReport{Event: p.Event, Count: len(leaves), Beacon: p.Beacon, Places: []placeReport{}}
	for i, leaf := range wanted {
		place := placeOf(leaf)
		if place == 0 {
			return fmt.Errorf("the leaf %s is not in the draw: its person came after the freeze, was silent before it, or was left out; a receipt from before the freeze shows which", args[i])
		}
		report.Places = append(report.Places, placeReport{leaf.String(), place})
	}
	lines := []string{fmt.Sprintf("%s: the order of %d follows from the commitment, the leaves and the seed", plain(p.Event), len(leaves))}
	if p.Beacon == "" {
		lines = append(lines, "no beacon was named: whoever set the opening could know the seed while people joined")
	}
	for _, one := range report.Places {
		lines = append(lines, fmt.Sprintf("%s  place %d of %d", one.Leaf, one.Place, len(leaves)))
	}
	return a.answer(report, "%s", strings.Join(lines, "\n"))
}

func readDraw(f verifyFlags) (p draw.Published, leaves []draw.Leaf, err error) {
	text, err := os.ReadFile(f.draw)
	if err != nil {
		return p, nil, fmt.Errorf("--draw: %w", err)
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, nil, fmt.Errorf("--draw: %s is not a published draw: %w", f.draw, err)
	}
	file, err := os.Open(f.leaves)
	if err != nil {
		return p, nil, fmt.Errorf("--leaves: %w", err)
	}
	leaves, err = draw.ReadLeaves(file)
	return p, leaves, errors.Join(err, file.Close())
}

// compare compares the file with what the user has kept.
func (f verifyFlags) compare(p draw.Published) error {
	for _, one := range []struct {
		flag, kept string
		published  draw.Hex
		wrong      string
	}{
		{"commitment", f.commitment, p.Commitment, "another seed was committed to than the one that was published at first"},
		{"beacon-value", f.beacon, p.Value, "the draw did not use the value of the beacon"},
	} {
		if one.kept == "" {
			continue
		}
		var kept draw.Hex
		if err := kept.UnmarshalText([]byte(one.kept)); err != nil {
			return usage("--%s is %.80q, which is not hexadecimal", one.flag, one.kept)
		}
		if string(kept) != string(one.published) {
			return fmt.Errorf("%w: --%s is %x, and the file has %x: %s", draw.ErrBroken, one.flag, []byte(kept), []byte(one.published), one.wrong)
		}
	}
	return nil
}
