package figures

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/doctest"
)

// TestPagesHaveTheFigures compares the figures of README.md and docs with the saved
// results.
func TestPagesHaveTheFigures(t *testing.T) {
	const root = "../.."
	set, err := Load(filepath.Join(root, "proof", "results"))
	require.NoError(t, err)
	assert.NoError(t, set.Differs(root))
	tree, err := doctest.Read(root)
	require.NoError(t, err)
	for path, page := range tree.Pages {
		if path != "README.md" && filepath.Dir(path) != "docs" {
			continue
		}
		var text strings.Builder
		for _, line := range page.Text {
			text.WriteString(line.Text + "\n")
		}
		for _, rate := range strayRates(text.String()) {
			t.Errorf("%s says %q outside the figures of proof/results; take it into a block of proof/figures, or lead to measured.md", path, rate)
		}
	}
}

// TestPlantedFigures shows that a figure outside of a block is found.
func TestPlantedFigures(t *testing.T) {
	text := "Drains 333,000 events a second.\n<!-- figures: x -->\n| 197,000/s |\n<!-- end of figures -->\nAt most 4,096 rows; 450/s; 12,500/s; 1,200 messages per second."
	if got, want := fmt.Sprint(strayRates(text)), "[333,000 events a second 12,500/s 1,200 messages per second]"; got != want {
		t.Errorf("found are %s, want %s", got, want)
	}
}

var (
	filled = regexp.MustCompile(`(?s)<!-- figures: .*?<!-- end of figures -->`)
	// rate is a measured rate: a configured limit has no thousands.
	rate = regexp.MustCompile(`\b\d{1,3}(,\d{3})+(/s\b| ?(\w+ )?(a|per) second)`)
)

// strayRates are the rates outside the blocks of figures.
func strayRates(text string) []string {
	return rate.FindAllString(filled.ReplaceAllString(text, ""), -1)
}
