package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// page is docs/cli.md.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "cli.md"))
	require.NoError(t, err)
	return string(text)
}

// sections are the parts of the page under its headings, by the heading.
func sections(text string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq("\n"+text, "\n##") {
		heading, body, _ := strings.Cut(part, "\n")
		out[strings.Trim(heading, "# ")] = body
	}
	return out
}

// The page names every command, and in its section, or in that of its group, every flag of
// the command; it names no command or flag that does not exist.
func TestPageNamesEverything(t *testing.T) {
	text := page(t)
	parts := sections(text)
	flags := map[string]bool{"help": true, "version": true, "redis-prefix": true} // the last one is the box office's
	walk(tree(), func(path string, cmd *cobra.Command) {
		group, _, _ := strings.Cut(path, " ")
		body, there := parts[path]
		switch {
		case path == "" || path == "help":
			body, there = text, strings.Contains(text, "`millrace "+path) || path == ""
		case group == "completion" && path != group:
			there = strings.Contains(parts[group], "`"+path+"`")
		}
		if !there {
			t.Errorf("docs/cli.md has no section of %q", path)
			return
		}
		if group != path {
			body += parts[group] // the common part of a group's commands
		}
		for name := range flagsOf(cmd) {
			flags[name] = true
			if !strings.Contains(body, "`--"+name+"`") && !(name == "help" && strings.Contains(text, "`--help`")) {
				t.Errorf("docs/cli.md does not name --%s of %q", name, path)
			}
		}
	})
	for heading := range parts {
		if found, _, err := tree().Find(strings.Fields(heading)); heading != "" && !strings.Contains(heading, "operator's tool") && heading != "Common to all commands" &&
			(err != nil || found.CommandPath() != "millrace "+heading) {
			t.Errorf("docs/cli.md has a section of %q, which is no command", heading)
		}
	}
	for _, named := range regexp.MustCompile("--([a-z][a-z-]+)").FindAllStringSubmatch(text, -1) {
		if !flags[named[1]] {
			t.Errorf("docs/cli.md names --%s, which no command has", named[1])
		}
	}
	for line := range strings.Lines(text) {
		for _, words := range calls(t, line) {
			found, rest, err := tree().Find(words[1:])
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err == nil && found.HasParent() {
				err = found.ValidateArgs(found.Flags().Args())
			}
			if err != nil {
				t.Errorf("docs/cli.md shows %q: %v", strings.TrimSpace(line), err)
			}
		}
	}
}

// The shapes on the page are JSON, and have the printed fields, those of the golden files.
func TestPageShowsTheShapes(t *testing.T) {
	parts := sections(page(t))
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```")
	for heading, golden := range map[string]string{
		"migrate up": "migrate-up.json", "migrate status": "migrate-status.json", "outbox status": "outbox-status.json", "outbox failed": "outbox-failed.json",
		"outbox failing": "outbox-failing.json", "outbox adopt": "outbox-adopt.json",
		"outbox retry": "outbox-retry.json", "outbox rebase": "outbox-rebase.json", "dlq list": "dlq-list.json", "dlq edit": "dlq-edit.json", "dlq redrive": "dlq-redrive.json",
		"queue status": "queue-status.json", "group list": "group-list.json", "group reset": "group-reset.json", "group delete": "group-delete.json", "replay": "replay.json",
		"doctor": "doctor.json", "bench": "bench.json",
	} {
		found := blocks.FindStringSubmatch(parts[heading])
		if found == nil {
			t.Errorf("docs/cli.md shows no JSON of %q", heading)
			continue
		}
		printed, err := os.ReadFile(filepath.Join("testdata", golden))
		require.NoError(t, err)
		shown, is := fieldsIn(t, found[1]), fieldsIn(t, string(printed))
		for _, name := range is {
			assert.Containsf(t, shown, name, "docs/cli.md does not show the field %q of %q", name, heading)
		}
		for _, name := range shown {
			if !slices.Contains(is, name) && name != "failed[].id" && name != "failed[].error" && name != "logs[].error" {
				t.Errorf("docs/cli.md shows a field %q of %q, which %s has not", name, heading, golden)
			}
		}
	}
}

// fieldsIn are the paths of all fields of a JSON text.
func fieldsIn(t *testing.T, text string) (fields []string) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var visit func(path string, v any)
	visit = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				at := strings.TrimPrefix(path+"."+name, ".")
				fields = append(fields, at)
				visit(at, value)
			}
		case []any:
			for _, value := range v {
				visit(path+"[]", value)
			}
		}
	}
	visit("", v)
	slices.Sort(fields)
	return slices.Compact(fields)
}
