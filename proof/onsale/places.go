package onsale

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/queue/draw"
)

// checks compares the places of all people with what is published.
func (p *presale) checks(ctx context.Context, verify string) (checks []judge.Check, err error) {
	before := func(d time.Duration) string {
		if d <= 0 {
			return fmt.Sprintf("%.1f s before the opening", -d.Seconds())
		}
		return fmt.Sprintf("%.1f s after the opening", d.Seconds())
	}
	checks = append(checks,
		judge.That("no person enters before the opening", p.first >= 0, "the first %s", before(p.first)),
		judge.Goal("the first enter within 5 s of it", p.first <= atTheOpening,
			"the first %s, %s let in %s; the order was drawn %s", before(p.first), screen.Thousands(min(p.cfg.Threshold, p.cfg.People)), before(p.full), before(p.drawn)))
	files := map[string]string{"draw": filepath.Join(p.folder, "draw.json"), "leaves": filepath.Join(p.folder, "leaves.txt")}
	for path, file := range map[string]string{"draw/" + p.cfg.Event: files["draw"], "draw/" + p.cfg.Event + "/leaves": files["leaves"]} {
		body, err := p.get(ctx, path)
		if err == nil {
			err = os.WriteFile(file, body, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	placeOf, leaves, err := published(files["draw"], files["leaves"])
	if err != nil {
		return append(checks, judge.That("what is published is whole", false, "%v", err)), nil
	}
	checks = append(checks, judge.That("what is published is whole", len(leaves) == p.cfg.People, "%s leaves of %s people", screen.Thousands(len(leaves)), screen.Thousands(p.cfg.People)))
	checks = append(checks, p.compare("by package draw", func(leaf string) int {
		l, err := draw.ParseLeaf(leaf)
		if err != nil {
			return 0
		}
		return placeOf(l)
	}))
	if verify == "" {
		return checks, nil
	}
	places, err := byProgram(ctx, verify, files["draw"], files["leaves"], leaves)
	if err != nil {
		return nil, err
	}
	return append(checks, p.compare("by "+filepath.Base(verify), func(leaf string) int { return places[leaf] })), nil
}

// get reads what the first instance publishes below a path.
func (p *presale) get(ctx context.Context, path string) ([]byte, error) {
	w := httptest.NewRecorder()
	p.instances[0].mux.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/queue/"+path, http.NoBody))
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.Bytes(), nil
}

// published reads and verifies the files of a draw.
func published(drawn, listed string) (placeOf func(draw.Leaf) int, leaves []draw.Leaf, err error) {
	raw, err := os.ReadFile(drawn)
	if err != nil {
		return nil, nil, err
	}
	var pub draw.Published
	if err := json.Unmarshal(raw, &pub); err != nil {
		return nil, nil, err
	}
	file, err := os.Open(listed)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close() //nolint:errcheck // read only
	if leaves, err = draw.ReadLeaves(file); err != nil {
		return nil, nil, err
	}
	placeOf, err = pub.Verify(leaves)
	return placeOf, leaves, err
}

// byProgram has a program of the docs compute the place of each leaf.
func byProgram(ctx context.Context, program, drawn, listed string, leaves []draw.Leaf) (map[string]int, error) {
	cmd := exec.CommandContext(ctx, "python3", program, drawn, listed)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("python3 %s: %w: %s", program, err, strings.TrimSpace(stderr.String()))
	}
	lines := strings.Fields(string(out))
	if len(lines) != len(leaves) {
		return nil, fmt.Errorf("python3 %s: %d places for %d leaves", program, len(lines), len(leaves))
	}
	places := make(map[string]int, len(leaves))
	for i, leaf := range leaves {
		if places[leaf.String()], err = strconv.Atoi(lines[i]); err != nil {
			return nil, fmt.Errorf("python3 %s: %w", program, err)
		}
	}
	return places, nil
}

// compare checks that each person stands in line where the draw says: the position is
// the place, less the people inside whose place is before it.
func (p *presale) compare(by string, placeOf func(leaf string) int) judge.Check {
	var inside []int
	for _, t := range p.told {
		if t.inside {
			inside = append(inside, placeOf(t.leaf))
		}
	}
	slices.Sort(inside)
	wrong, first := 0, ""
	for n, t := range p.told {
		place := placeOf(t.leaf)
		ahead, _ := slices.BinarySearch(inside, place)
		if place > 0 && (t.inside || t.position == place-ahead) {
			continue
		}
		if wrong++; wrong == 1 {
			first = fmt.Sprintf("; %s drew place %d, %d people inside are before it, and was told position %d", user(int32(n)), place, ahead, t.position)
		}
	}
	last := 0
	if len(inside) > 0 {
		last = inside[len(inside)-1]
	}
	return judge.That("each place is the one that was drawn, "+by, wrong == 0 && len(inside) == min(p.cfg.Threshold, p.cfg.People),
		"%d of %s are not; %s are inside, the last of them drew place %s%s", wrong, screen.Thousands(len(p.told)), screen.Thousands(len(inside)), screen.Thousands(last), first)
}
