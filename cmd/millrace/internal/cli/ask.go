package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
)

// confirm asks before an action that cannot be undone. Without a terminal, --yes is required.
func (a *app) confirm(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	if !a.Asks {
		return usage("this cannot be taken back and nobody can be asked; add --yes")
	}
	if _, err := io.WriteString(a.Err, question+" [y/N] "); err != nil {
		return err
	}
	answers := make(chan string, 1)
	go func() { // without an answer it ends with the process
		line, err := bufio.NewReader(a.In).ReadString('\n')
		if err != nil && line == "" {
			line = "no"
		}
		answers <- line
	}()
	select {
	case <-ctx.Done():
		a.say("")
		return ctx.Err()
	case line := <-answers:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return errors.New("nothing was done")
	}
}
