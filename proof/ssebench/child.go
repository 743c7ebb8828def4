package ssebench

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/millrace-go/millrace/proof/part"
)

// Part is the first argument of this program when it is one of its own children.
const Part = "streams-part"

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
	return part.Answer(ctx, in, out, answers)
}
