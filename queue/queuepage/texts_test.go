package queuepage_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type catalog map[string]any

func catalogs(t *testing.T) map[string]catalog {
	t.Helper()
	source, err := os.ReadFile("page/texts.json")
	require.NoError(t, err)
	var all map[string]catalog
	require.NoError(t, json.Unmarshal(source, &all))
	return all
}

// TestLanguagesSayTheSame compares the texts: the same keys, the same holes, and
// the forms that each language's numbers need.
func TestLanguagesSayTheSame(t *testing.T) {
	holes := regexp.MustCompile(`\{\w+\}`)
	forms := func(text any) map[string]string {
		if one, ok := text.(string); ok {
			return map[string]string{"other": one}
		}
		out := map[string]string{}
		for form, one := range text.(map[string]any) {
			out[form] = one.(string)
		}
		return out
	}
	all := catalogs(t)
	require.Len(t, all, 2, "languages")
	for key, english := range all["en"] {
		korean, ok := all["ko"][key]
		if !ok {
			t.Errorf("%s is not in Korean", key)
			continue
		}
		want := holes.FindAllString(forms(english)["other"], -1)
		slices.Sort(want)
		for lang, text := range map[string]any{"en": english, "ko": korean} {
			for form, one := range forms(text) {
				got := holes.FindAllString(one, -1)
				slices.Sort(got)
				if !slices.Equal(got, want) || strings.TrimSpace(one) != one || one == "" {
					t.Errorf("%s %s (%s): %q has %q, want %q", lang, key, form, one, got, want)
				}
			}
		}
		if english, ok := english.(map[string]any); ok && (english["one"] == nil || english["other"] == nil || len(english) != 2) {
			t.Errorf("%s: English needs one and other: %v", key, english)
		}
		if _, ok := korean.(string); !ok {
			t.Errorf("%s: Korean has one form", key)
		}
		if key != "name" && key != "n" && key != "percent" && regexp.MustCompile(`[A-Za-z]{2}`).MatchString(holes.ReplaceAllString(forms(korean)["other"], "")) {
			t.Errorf("%s is not in Korean: %v", key, korean)
		}
	}
	for key := range all["ko"] {
		if all["en"][key] == nil {
			t.Errorf("%s is not in English", key)
		}
	}
}

// TestTextsAreUsed finds missing texts, and unused ones.
func TestTextsAreUsed(t *testing.T) {
	used := map[string]bool{}
	files, err := filepath.Glob("page/*")
	require.NoError(t, err)
	literal := regexp.MustCompile(`(?:\bt\(|data-t=|data-label=|\? )['"]([a-z.0-9]+)['"]|: '([a-z]+(?:\.[a-z]+)+)'`)
	view := regexp.MustCompile(`(?m)^  (\w+): \[`)
	for _, name := range files {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, found := range literal.FindAllStringSubmatch(string(source), -1) {
			used[found[1]+found[2]] = true
		}
		if filepath.Base(name) == "view.js" {
			for _, found := range view.FindAllStringSubmatch(string(source), -1) {
				used[found[1]+".title"], used[found[1]+".text"] = true, true
			}
		}
	}
	for _, built := range []string{"name", "trouble.busy", "trouble.busy.short", "trouble.offline", "trouble.offline.short", "wait.minutes", "wait.hours", "waiting.text.gate", "waiting.text.back", "again", "retry"} {
		used[built] = true
	}
	texts := catalogs(t)["en"]
	for key := range texts {
		assert.Truef(t, used[key], "nobody says %s", key)
	}
	for _, key := range []string{"waiting.title", "failed.text", "leave.failed", "turn.enter", "say.next"} {
		assert.Truef(t, used[key], "%s is not found: the search is broken", key)
	}
	for key := range used {
		if texts[key] == nil && strings.Contains(key, ".") {
			t.Errorf("%s is said and has no text", key)
		}
	}
}
