package site

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestContrast checks the colours of text against those of its background, in both
// themes: WCAG 2.2 AA asks for 4.5.
func TestContrast(t *testing.T) {
	css, err := staticFiles.ReadFile("static/css/base.css")
	require.NoError(t, err)
	colours := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(string(css), -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	pairs := map[string][]string{
		"ink":      {"paper", "sheet", "wash", "ember-wash", "amber-wash", "leaf-wash"},
		"soft":     {"paper", "sheet", "wash", "rule"},
		"water":    {"paper", "sheet", "wash"},
		"on-water": {"water"},
		"on-ember": {"ember"},
		"ember":    {"paper", "sheet", "ember-wash"},
		"amber":    {"amber-wash"},
		"leaf":     {"sheet", "leaf-wash"},
		"paper":    {"leaf", "ink"},
	}
	for text, grounds := range pairs {
		for _, ground := range grounds {
			for theme, name := range []string{"light", "dark"} {
				a, b := colours[text][theme], colours[ground][theme]
				if a == "" || b == "" {
					t.Fatalf("no colour for %s or %s", text, ground)
				}
				if ratio := contrast(t, a, b); ratio < 4.5 {
					t.Errorf("%s on %s in the %s theme has a contrast of %.2f", text, ground, name, ratio)
				}
			}
		}
	}
	if ratio := contrast(t, "#777777", "#ffffff"); math.Abs(ratio-4.48) > .01 {
		t.Errorf("grey on white has 4.48 by the standard, not %.2f", ratio)
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + .05) / (min(la, lb) + .05)
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex[1:], 16, 32)
	require.NoError(t, err)
	linear := func(c uint64) float64 {
		v := float64(c) / 255
		if v <= .04045 {
			return v / 12.92
		}
		return math.Pow((v+.055)/1.055, 2.4)
	}
	return .2126*linear(n>>16) + .7152*linear(n>>8&255) + .0722*linear(n&255)
}

func TestPosters(t *testing.T) {
	seen := map[string]string{}
	for n := range 12 {
		id := fmt.Sprint("show-", n+1)
		drawn := string(poster(id))
		assert.Equalf(t, string(poster(id)), drawn, "the poster of %s is another one each time", id)
		if other, ok := seen[drawn]; ok {
			t.Errorf("%s and %s have the same poster", id, other)
		}
		seen[drawn] = id
		decoder := xml.NewDecoder(strings.NewReader(drawn))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("the poster of %s: %v", id, err)
			}
		}
		if strings.Contains(drawn, "NaN") || strings.Contains(drawn, "%!") {
			t.Errorf("the poster of %s has a shape without a place", id)
		}
	}
	for _, id := range []string{"", "hamlet", "42", "show-99999999999999999999"} {
		if poster(id) == "" {
			t.Errorf("%q has no poster", id)
		}
	}
	// The first five of a series show different scenes, not only different details.
	skies := map[string]bool{}
	for n := range 5 {
		skies[regexp.MustCompile(`<rect[^>]*fill="(#\w+)"`).FindStringSubmatch(string(poster(fmt.Sprint("show-", n+1))))[1]] = true
	}
	assert.Lenf(t, skies, 5, "five shows share %d skies", len(skies))
}

// Only the page for scans may use the camera.
func TestCamera(t *testing.T) {
	h := handler(t, tonight())
	for target := range everyPage() {
		policy := get(h, target).Header().Get("Permissions-Policy")
		if may := strings.Contains(policy, "camera=(self)"); may != (target == "/scan") || !strings.Contains(policy, "microphone=()") || !may && !strings.Contains(policy, "camera=()") {
			t.Errorf("%s: %q", target, policy)
		}
	}
}
