package cli

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// tree is a fresh tree of commands.
func tree() *cobra.Command {
	a := &app{Streams: Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }}}
	return a.root()
}

// walk calls visit with each command, by its path without the tool's name.
func walk(cmd *cobra.Command, visit func(path string, cmd *cobra.Command)) {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	visit(path, cmd)
	for _, under := range cmd.Commands() {
		walk(under, visit)
	}
}

var flagName = regexp.MustCompile(`(?m)^\s+(?:-\w, )?--([a-z-]+)( \S+)?`)

// flagsOf are the names of a command's own flags; those without a value are false.
func flagsOf(cmd *cobra.Command) map[string]bool {
	flags := map[string]bool{}
	for _, found := range flagName.FindAllStringSubmatch(cmd.LocalFlags().FlagUsages(), -1) {
		kind, err := cmd.Flags().GetBool(found[1])
		_ = kind
		flags[found[1]] = err != nil
	}
	return flags
}

// Each command has a description, an example that a shell could run, and completions of its flags.
func TestTree(t *testing.T) {
	n := 0
	walk(tree(), func(path string, cmd *cobra.Command) {
		n++
		if cmd.Short == "" || cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%q: short %q, long %q, example %q; give it all three", path, cmd.Short, cmd.Long, cmd.Example)
		}
		if cmd.ValidArgsFunction == nil {
			t.Errorf("%q offers file names for its arguments", path)
		}
		for name, value := range flagsOf(cmd) {
			if _, there := cmd.GetFlagCompletionFunc(name); value && !there && name != "payload" { // which is a file
				t.Errorf("%q completes no values for --%s", path, name)
			}
		}
		mine := false
		for line := range strings.Lines(cmd.Example) {
			for _, words := range calls(t, line) {
				found, rest, err := tree().Find(words[1:])
				if err == nil {
					err = found.ParseFlags(rest)
				}
				if err == nil {
					err = found.ValidateArgs(found.Flags().Args())
				}
				if err != nil {
					t.Errorf("the example %q of %q: %v", strings.TrimSpace(line), path, err)
					continue
				}
				mine = mine || found.CommandPath() == cmd.CommandPath() || strings.HasPrefix(found.CommandPath(), cmd.CommandPath()+" ")
			}
		}
		if !mine && path != "help" { // which shows the help of another
			t.Errorf("no example of %q is about it:\n%s", path, cmd.Example)
		}
	})
	if n < 25 {
		t.Errorf("the tree has %d commands", n)
	}
}

// Programs can read every result: each command outside the table has --json.
func TestJSONEverywhere(t *testing.T) {
	without := []string{"migrate print", "outbox debezium", "gate"} // print a script and a configuration; serves
	walk(tree(), func(path string, cmd *cobra.Command) {
		if cmd.HasSubCommands() || path == "help" || strings.HasPrefix(path, "completion") {
			return
		}
		if _, has := flagsOf(cmd)["json"]; has == slices.Contains(without, path) {
			t.Errorf("%q: has --json: %v", path, has)
		}
	})
}

// calls are the calls of the tool in a line of a shell.
func calls(t *testing.T, line string) (all [][]string) {
	t.Helper()
	for part := range strings.FieldsFuncSeq(strings.ReplaceAll(line, "<(", "|"), func(r rune) bool { return strings.ContainsRune("|>)", r) }) {
		words := strings.Fields(part)
		if len(words) > 0 && words[0] == "millrace" {
			all = append(all, words)
		}
	}
	return all
}

// Words of an example are split at spaces, so none of them may be quoted.
func TestCalls(t *testing.T) {
	got := calls(t, "  jq '.a' x.json | millrace dlq edit t 1 --payload - > y; source <(millrace completion bash)\n")
	if len(got) != 2 || strings.Join(got[0], " ") != "millrace dlq edit t 1 --payload -" || strings.Join(got[1], " ") != "millrace completion bash" {
		t.Errorf("found %q", got)
	}
}
