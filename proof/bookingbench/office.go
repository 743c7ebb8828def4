package bookingbench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
)

// office is a box office of several processes.
type office struct {
	dir, db, keys string
	processes     int

	urls  []string
	admin string
}

// patience is how long a process may take to be ready, and to end.
const patience = 90 * time.Second

// withOffice starts the processes, runs fn, and stops them.
func withOffice(ctx context.Context, cfg Config, o office, fn func(*office) error) (err error) {
	o.admin = launch.NewAdminToken()
	start := &launch.Office{
		Program: cfg.Program, Dir: o.dir, Admin: o.admin, Hold: time.Hour,
		Env: map[string]string{
			"BOXOFFICE_DB_URL": o.db, "BOXOFFICE_BUS_URL": "kafka://" + cfg.Brokers + "/", "BOXOFFICE_REDIS_URL": redisURL(cfg.Cluster),
			"BOXOFFICE_REDIS_PREFIX": o.keys, "BOXOFFICE_WORKERS": strconv.Itoa(o.processes),
			"QUEUE_THRESHOLD": "1000000", "QUEUE_ADMISSION_INTERVAL_MS": "100",
		},
	}
	gateway, err := start.StartGateway(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gateway.Stop(patience)) }()
	var all []*launch.Process
	for i := range o.processes {
		addr, failed := launch.FreeAddr()
		if failed != nil {
			return failed
		}
		p, failed := start.Serve(fmt.Sprintf("box office %d", i+1), "all", addr, nil)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, p.Stop(patience)) }()
		all, o.urls = append(all, p), append(o.urls, "http://"+addr)
		if i == 0 { // it makes the tables, and the topics
			if err := ready(ctx, p, o.urls[0]); err != nil {
				return err
			}
		}
	}
	for i, p := range all {
		if err := ready(ctx, p, o.urls[i]); err != nil {
			return err
		}
	}
	return fn(&o)
}

func ready(ctx context.Context, p *launch.Process, url string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return p.Ready(ctx, url+"/readyz")
}
