package ssebench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Part is the first argument of this program when it is one of its own children.
const Part = "streams-part"

// patience bounds whatever a child is asked.
const patience = 2 * time.Minute

// child is this program in another process. It answers each line with a line, and
// ends with its input.
type child struct {
	what  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	errs  bytes.Buffer
}

func start(ctx context.Context, args ...string) (*child, error) {
	c := &child{what: strings.Join(args, " "), lines: make(chan string, 1)}
	c.cmd = exec.CommandContext(ctx, os.Args[0], append([]string{Part}, args...)...)
	c.cmd.Stderr = &c.errs
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			c.lines <- in.Text()
		}
	}()
	return c, nil
}

// next is the next line of the child.
func (c *child) next(ctx context.Context) (string, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case line, ok := <-c.lines:
		if !ok {
			return "", fmt.Errorf("%s: it has ended", c.what)
		}
		if trouble, failed := strings.CutPrefix(line, "error "); failed {
			return "", fmt.Errorf("%s: %s", c.what, trouble)
		}
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	case <-late.C:
		return "", fmt.Errorf("%s: no answer within %s", c.what, patience)
	}
}

// ask sends a line, and reads the numbers of the answer.
func (c *child) ask(ctx context.Context, format string, args ...any) ([]float64, error) {
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", c.what, err, &c.errs)
	}
	line, err := c.next(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w, asked "+format, append([]any{err}, args...)...)
	}
	var numbers []float64
	for _, field := range strings.Fields(line) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.what, err)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// close ends the child, which has nothing to lose.
func (c *child) close() error {
	if c == nil {
		return nil
	}
	err := c.in.Close()
	for range c.lines { // until it has ended
	}
	if failed := c.cmd.Wait(); failed != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w: %s", c.what, failed, &c.errs))
	}
	return err
}

// Take is the main function of a child.
func Take(ctx context.Context, args []string, in io.Reader, out io.Writer) (err error) {
	var answers func(ctx context.Context, line string) (string, error)
	switch {
	case len(args) == 4 && args[0] == "server":
		s, err := serve(ctx, args[1], args[2], args[3])
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		if _, err := fmt.Fprintln(out, s.addr); err != nil {
			return err
		}
		answers = s.answer
	case len(args) == 3 && args[0] == "crowd":
		c, err := newCrowd(args[1], args[2])
		if err != nil {
			return err
		}
		defer c.close()
		answers = c.answer
	default:
		return fmt.Errorf("%q is no part of a measurement", args)
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		answer, err := answers(ctx, lines.Text())
		if err != nil {
			answer = "error " + strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	}
	return nil
}
