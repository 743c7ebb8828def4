package doctest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// builder builds programs outside of the tree, as users do, with the modules of go.work.
func builder(t *testing.T, root string) func(string) error {
	return func(program string) error {
		file := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
			return err
		}
		return command(t.Context(), root, "go", "build", "-o", os.DevNull, file)
	}
}

func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// built is the folder of the programs, made once.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir) // a temporary folder
	}
	os.Exit(code)
}

// rootOf returns the folder of the module.
func rootOf(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	return root
}

// programs builds millrace and the box office, and returns their folder.
func programs(t *testing.T) string {
	t.Helper()
	root := rootOf(t)
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "doctest-"); built.err == nil {
			built.err = command(context.WithoutCancel(t.Context()), root, "go", "build", "-o", built.dir+string(filepath.Separator), "./cmd/millrace", "./examples/boxoffice")
		}
	})
	require.NoError(t, built.err)
	return built.dir
}

// helper returns a function that gets the help of the programs.
func helper(t *testing.T) func(string, []string) (string, error) {
	bin := programs(t)
	known := map[string]string{}
	help := func(line string) (string, error) {
		if text, ok := known[line]; ok {
			return text, nil
		}
		words := strings.Fields(line)
		out, err := exec.CommandContext(t.Context(), filepath.Join(bin, words[0]), append(words[1:], "--help")...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
		known[line] = string(out)
		return known[line], nil
	}
	return func(program string, words []string) (string, error) {
		line := program
		for _, word := range words {
			above, err := help(line)
			if err != nil {
				return "", err
			}
			if program == "millrace" {
				if !strings.Contains(above, "Available Commands:") {
					break // the rest are its arguments
				}
				if !regexp.MustCompile(`(?m)^  ` + word + `\s`).MatchString(above) {
					return "", errors.New("there is no such command")
				}
			}
			line += " " + word
		}
		return help(line)
	}
}
