package launch

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Office starts the processes of one box office on one data folder: its
// gateway, and as many processes of its own as there are roles to split. Fill
// the fields, then call the methods.
type Office struct {
	Program string            // the boxoffice binary
	Prefix  []string          // arguments before the command, for test binaries
	Dir     string            // data folder; also holds the gateway's ledger and the logs
	Env     map[string]string // more environment for the box office
	Hold    time.Duration     // how long a hold lasts, whole seconds
	Admin   string            // admin token
	Log     io.Writer         // the output of all of them, may be nil
	Gateway string            // the gateway's URL, once it was started
}

// StartGateway starts the gateway and waits for its URL.
func (o *Office) StartGateway(ctx context.Context) (*Process, error) {
	p, err := Start(Spec{
		Name: "gateway", Path: o.Program, Dir: o.Dir, Env: environment(nil), Log: o.Log,
		Args: append(append([]string{}, o.Prefix...), "gateway", "--addr", "127.0.0.1:0", "--ledger", filepath.Join(o.Dir, "gateway-ledger.db")),
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if o.Gateway, err = p.FirstLine(ctx); err == nil {
		err = p.Ready(ctx, o.Gateway+"/healthz")
	}
	if err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// StartServe starts one process of the box office with the given roles on the
// given address and waits until it is ready, at most within.
func (o *Office) StartServe(ctx context.Context, name, roles, addr string, within time.Duration, more map[string]string) (*Process, error) {
	p, err := o.Serve(name, roles, addr, more)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := p.Ready(ctx, "http://"+addr+"/readyz"); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// Serve starts one process of the box office and does not wait for it. more is the
// environment of this process alone.
func (o *Office) Serve(name, roles, addr string, more map[string]string) (*Process, error) {
	env := map[string]string{
		"BOXOFFICE_ADDR": addr, "BOXOFFICE_DATA_DIR": o.Dir, "BOXOFFICE_ROLES": roles,
		"BOXOFFICE_GATEWAY_URL": o.Gateway, "BOXOFFICE_ADMIN_TOKEN": o.Admin,
	}
	if o.Hold > 0 {
		env["BOXOFFICE_HOLD_SECONDS"] = strconv.Itoa(int(o.Hold / time.Second))
	}
	maps.Copy(env, o.Env)
	maps.Copy(env, more)
	return Start(Spec{
		Name: name, Path: o.Program, Dir: o.Dir, Env: environment(env), Log: o.Log,
		Args: append(append([]string{}, o.Prefix...), "serve"),
	})
}

// environment is the parent's own, without any setting of a box office that
// the user may have exported for another one, plus more.
func environment(more map[string]string) []string {
	env := Without("BOXOFFICE_", "QUEUE_")
	for k, v := range more {
		env = append(env, k+"="+v)
	}
	return env
}

// Without is the environment of this program, except for the variables with a prefix.
func Without(prefixes ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(pair, p) })
	})
}

// FreeAddr finds a free port on the loopback interface, below those that the system
// assigns to connections and to listeners on any port: the port is free for a restart
// too. Another process could take it before it is used; the child then reports an
// error and ends.
func FreeAddr() (string, error) {
	const first, ports, tries = 15_000, 7_000, 50
	var err error
	for range tries {
		var ln net.Listener
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+mathrand.IntN(ports)))
		if ln, err = net.Listen("tcp", addr); err == nil {
			return addr, ln.Close()
		}
	}
	return "", fmt.Errorf("launch: find a free port: %w", err)
}

// NewAdminToken makes an admin token.
func NewAdminToken() string { return rand.Text() + rand.Text() }
