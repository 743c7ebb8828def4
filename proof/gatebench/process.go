package gatebench

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
)

// startTimeout bounds how long a program takes until it listens, and until it ends.
const startTimeout = 30 * time.Second

// start runs a program, and returns when it listens at the address.
func start(ctx context.Context, folder, at string, words ...string) (*launch.Process, error) {
	p, err := launch.Start(launch.Spec{
		Name: filepath.Base(words[0]), Path: words[0], Args: words[1:], Dir: folder,
		// MILLRACE_… would set flags of the gate.
		Env: append(launch.Without("MILLRACE_"), "HOME="+folder, "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder),
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.Listens(ctx, at); err != nil {
		p.Kill()
		return nil, errors.Join(err, ctx.Err())
	}
	return p, nil
}
