package part

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
)

// Patience bounds the wait for each answer of a part.
const Patience = 2 * time.Minute

// Part is this program in another process. It answers each line with a line, and
// ends with its input. One goroutine uses it at a time.
type Part struct {
	what     string
	process  *launch.Process
	in       *os.File
	lines    chan string
	alone    func() bool // it lives longer than the context
	patience time.Duration
}

// Start starts a part, which is killed when ctx ends. name is the first argument, by
// which main knows it.
func Start(ctx context.Context, name string, args ...string) (*Part, error) {
	theirs, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close() //nolint:errcheck // the part has its own
	out, to, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	defer to.Close() //nolint:errcheck // the part has its own
	p := &Part{what: strings.Join(args, " "), in: in, lines: make(chan string, 1), patience: Patience}
	if p.process, err = run(name, args, theirs, to); err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	p.alone = context.AfterFunc(ctx, func() { p.process.Kill() })
	go func() {
		defer close(p.lines)
		defer out.Close() //nolint:errcheck // it was read to its end
		for in := bufio.NewScanner(out); in.Scan(); {
			p.lines <- in.Text()
		}
	}()
	return p, nil
}

func run(name string, args []string, in io.Reader, out io.Writer) (*launch.Process, error) {
	return launch.Start(launch.Spec{
		Name: name, Path: os.Args[0], Args: append([]string{name}, args...), Env: os.Environ(), Stdin: in, Stdout: out,
	})
}

// Output is the output of a part without input, once it has ended.
func Output(ctx context.Context, name string, args ...string) (string, error) {
	var out bytes.Buffer
	process, err := run(name, args, nil, &out)
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { process.Kill() })()
	err = process.Wait()
	return out.String(), err
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
		return nil, fmt.Errorf("%s: %w: %s", p.what, err, p.process.Tail())
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
	err = errors.Join(err, p.process.Wait())
	p.alone()
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
