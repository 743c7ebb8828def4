package part

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

// Patience bounds the wait for each answer of a part.
const Patience = 2 * time.Minute

// Part is this program in another process. It answers each line with a line, and
// ends with its input. One goroutine uses it at a time.
type Part struct {
	what     string
	cmd      *exec.Cmd
	in       io.WriteCloser
	lines    chan string
	errs     bytes.Buffer
	patience time.Duration
}

// Start starts a part. name is the first argument, by which main knows it.
func Start(ctx context.Context, name string, args ...string) (*Part, error) {
	p := &Part{what: strings.Join(args, " "), lines: make(chan string, 1), patience: Patience}
	p.cmd = exec.CommandContext(ctx, os.Args[0], append([]string{name}, args...)...)
	p.cmd.Stderr = &p.errs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			p.lines <- in.Text()
		}
	}()
	return p, nil
}

// Next is the next line of the part.
func (p *Part) Next(ctx context.Context) (string, error) {
	late := time.NewTimer(p.patience)
	defer late.Stop()
	select {
	case line, ok := <-p.lines:
		if !ok {
			return "", fmt.Errorf("%s: it has ended", p.what)
		}
		if trouble, failed := strings.CutPrefix(line, "error "); failed {
			return "", fmt.Errorf("%s: %s", p.what, trouble)
		}
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	case <-late.C:
		return "", fmt.Errorf("%s: no answer within %s", p.what, p.patience)
	}
}

// Ask sends a line, and reads the numbers of the answer.
func (p *Part) Ask(ctx context.Context, format string, args ...any) ([]float64, error) {
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", p.what, err, &p.errs)
	}
	line, err := p.Next(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w, asked "+format, append([]any{err}, args...)...)
	}
	var numbers []float64
	for _, field := range strings.Fields(line) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.what, err)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// Close ends the part, which has no data to lose. It may be nil.
func (p *Part) Close() error {
	if p == nil {
		return nil
	}
	err := p.in.Close()
	for range p.lines { // until it has ended
	}
	if failed := p.cmd.Wait(); failed != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w: %s", p.what, failed, &p.errs))
	}
	return err
}

// Answer is the main loop of a part: it answers each line of in, until in ends.
func Answer(ctx context.Context, in io.Reader, out io.Writer, answer func(ctx context.Context, line string) (string, error)) error {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		text, err := answer(ctx, lines.Text())
		if err != nil {
			text = "error " + strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	return nil
}
