package doctest

import (
	"regexp"
	"strings"
)

var (
	assignment = regexp.MustCompile(`^[A-Z_]+=`)
	flagName   = regexp.MustCompile(`^-{1,2}([a-z][a-z0-9-]*)`)
	plainWord  = regexp.MustCompile(`^[a-z][a-z-]*$`)
	separators = regexp.MustCompile(`&&|\|\||;|\||&\s*$|\$\(`)
)

// Commands returns commands on pages that cannot be run: an unknown target of make, an unknown
// command or flag of millrace or of the box office, a program that does not exist.
func (t *Tree) Commands(p Page) (wrong []Problem) {
	for _, c := range p.commands() {
		for _, text := range t.command(c.Text) {
			wrong = append(wrong, p.problem(c.Line, "%s", text))
		}
	}
	return wrong
}

// commands returns the command lines of the shell blocks and of the code spans.
func (p Page) commands() (out []Span) {
	lines := append([]Span{}, p.Code...)
	for _, b := range p.Blocks {
		if b.Lang != "sh" {
			continue
		}
		joined, start := "", 0
		for i, line := range strings.Split(b.Text, "\n") {
			if joined == "" {
				start = b.Line + i
			}
			line, _, _ = strings.Cut(line, " #")
			if rest, more := strings.CutSuffix(strings.TrimSpace(line), `\`); more {
				joined += rest + " "
				continue
			}
			lines = append(lines, Span{start, joined + line})
			joined = ""
		}
	}
	for _, l := range lines {
		for _, part := range separators.Split(l.Text, -1) {
			out = append(out, Span{l.Line, strings.TrimSpace(part)})
		}
	}
	return out
}

// command checks one command line.
func (t *Tree) command(line string) (wrong []string) {
	words := strings.Fields(line)
	for len(words) > 0 && assignment.MatchString(words[0]) {
		words = words[1:]
	}
	if len(words) > 1 && words[0] == "exec" {
		words = words[1:]
	}
	if len(words) < 2 {
		return nil
	}
	switch program := words[0]; program {
	case "make":
		for _, word := range words[1:] {
			if plainWord.MatchString(word) && !t.Targets[word] {
				wrong = append(wrong, "make has no target "+word)
			}
		}
	case "go":
		return t.goRun(words)
	case "millrace", "bin/millrace":
		return t.ask("millrace", words[1:])
	case "boxoffice", "bin/boxoffice":
		return t.ask("boxoffice", words[1:])
	}
	return wrong
}

// goRun checks go run, go build and go test of folders of the tree.
func (t *Tree) goRun(words []string) (wrong []string) {
	for i, word := range words {
		if !strings.HasPrefix(word, "./") {
			continue
		}
		folder := strings.TrimSuffix(strings.TrimPrefix(word, "./"), "/...")
		if folder != "..." && !t.exists(folder) {
			wrong = append(wrong, "there is no folder "+word)
		}
		if words[1] != "run" {
			continue
		}
		switch folder {
		case "cmd/millrace":
			return append(wrong, t.ask("millrace", words[i+1:])...)
		case "examples/boxoffice":
			return append(wrong, t.ask("boxoffice", words[i+1:])...)
		}
		for _, arg := range words[i+1:] {
			if m := flagName.FindStringSubmatch(arg); m != nil && !t.Literals[m[1]] {
				wrong = append(wrong, word+" has no flag "+arg)
			}
		}
		return wrong
	}
	return wrong
}

// ask looks for the flags of a command in the program's help.
func (t *Tree) ask(program string, args []string) (wrong []string) {
	if t.Help == nil {
		return nil
	}
	var command, flags []string
	for _, arg := range args {
		if m := flagName.FindStringSubmatch(arg); m != nil {
			flags = append(flags, m[1])
		} else if len(flags) == 0 && plainWord.MatchString(arg) {
			command = append(command, arg)
		}
	}
	help, err := t.Help(program, command)
	if err != nil {
		return []string{program + " " + strings.Join(command, " ") + ": " + err.Error()}
	}
	for _, flag := range flags {
		if flag != "help" && !regexp.MustCompile(`(?m)(^|\s|,)-{1,2}`+flag+`(\s|$)`).MatchString(help) {
			wrong = append(wrong, program+" "+strings.Join(command, " ")+" has no flag --"+flag)
		}
	}
	return wrong
}
