package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// yesFlag gives a command that confirms its --yes.
func (a *app) yesFlag(cmd *cobra.Command, help string) {
	cmd.Flags().BoolVar(&a.yes, "yes", false, help)
}

// confirmable is the error of a confirm that cannot ask, before a command opens anything.
func (a *app) confirmable() error {
	if a.yes || a.Asks {
		return nil
	}
	return usage("this cannot be taken back, and without a terminal there is no question; add --yes")
}

// confirm asks before an action that cannot be undone. Without a terminal, --yes is required.
func (a *app) confirm(ctx context.Context, question string) error {
	if err := a.confirmable(); err != nil || a.yes {
		return err
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
