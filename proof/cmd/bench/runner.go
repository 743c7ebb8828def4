package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/millrace-go/millrace/proof/environment"
	"github.com/millrace-go/millrace/proof/figures"
	"github.com/millrace-go/millrace/proof/page"
	"github.com/millrace-go/millrace/proof/report"
)

// runAll runs the sections one after the other, if the servers of all are given,
// saves each when it is done, and makes the report again.
func (o *options) runAll(ctx context.Context, chosen []section, out io.Writer) error {
	for _, s := range chosen {
		for _, name := range s.needs {
			if o.servers[name] == "" {
				return fmt.Errorf("%s is not set, which section %s needs; `make bench` starts the servers and sets it, -only chooses sections", name, s.name)
			}
		}
	}
	// The pages take figures from each section, and are no change for the next one.
	outputs := append([]string{"proof/results", "proof/plots", "proof/REPORT.md"}, figures.Pages()...)
	where := environment.Of(ctx, o.root, outputs...)
	if where.Dirty && o.results != "" && !o.dirty {
		return fmt.Errorf("the tree has changes that no commit has, so nobody could repeat what is measured; commit them, or give -dirty to have the results marked")
	}
	clock := newPace(chosen, o.quick)
	for i, s := range chosen {
		where := environment.Of(ctx, o.root, outputs...)
		fmt.Fprintf(out, "== %d of %d, %s: %s (%s)\n\n", i+1, len(chosen), s.name, s.title, clock.left(i, 0))
		result, err := o.runOne(ctx, s, where, clock, i, out)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(out, "\n(%s took %s)\n\n", s.name, time.Duration(result.Seconds*float64(time.Second)).Round(time.Second))
		if o.results == "" {
			continue
		}
		if err := report.Save(o.results, result); err != nil {
			return err
		}
		if err := o.makeReport(out); err != nil {
			return err
		}
	}
	return nil
}

// runOne runs a section.
func (o *options) runOne(ctx context.Context, s section, where report.Environment, clock *pace, i int, out io.Writer) (report.Section, error) {
	var err error
	if where.Servers, err = environment.Servers(ctx, o.addresses(s)); err != nil {
		return report.Section{}, err
	}
	rec := report.To(out)
	start := time.Now()
	rec.OnRound(func(round, of int) {
		fmt.Fprintf(out, "-- %s, round %d of %d, after %s (%s)\n", s.name, round, of, time.Since(start).Round(time.Second), clock.left(i, float64(round-1)/float64(of)))
	})
	if err := s.run(ctx, o.servers, o.sizes, rec); err != nil {
		return report.Section{}, err
	}
	if err := ctx.Err(); err != nil { // an interrupted section has no result
		return report.Section{}, err
	}
	took := time.Since(start)
	clock.done(i, took)
	result := rec.Section()
	result.Name, result.Title, result.Quick, result.Seconds = s.name, s.title, o.quick, took.Round(100*time.Millisecond).Seconds()
	result.Environment = where
	return result, nil
}

// addresses of the servers that a section needs.
func (o *options) addresses(s section) environment.Addresses {
	needed := map[string]string{}
	for _, name := range s.needs {
		needed[name] = o.servers[name]
	}
	return environment.Addresses{
		Postgres: needed[postgres], MariaDB: needed[mariadb], MySQL: needed[mysql],
		Redis: needed[redis], RedisCluster: needed[cluster], RabbitMQ: needed[rabbitmq], Kafka: needed[kafka],
	}
}

// makeReport makes the report of all saved results.
func (o *options) makeReport(out io.Writer) error {
	p, err := pageOf(o.results)
	if err != nil {
		return err
	}
	if err := p.Write(o.bench); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := o.writePages(); err != nil {
		return fmt.Errorf("write the figures of the pages: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s and %d plots are made of %s\n", filepath.Join(o.bench, "REPORT.md"), len(p.Plots), o.results)
	return err
}

// writePages writes the figures of README.md and docs, from the tree's own results
// and no others.
func (o *options) writePages() error {
	if filepath.Clean(o.results) != filepath.Join("proof", "results") {
		return nil
	}
	set, err := figures.Load(o.results)
	if err != nil {
		return err
	}
	return set.Write(o.root)
}

// pageOf is the report of a folder's results.
func pageOf(results string) (page.Page, error) {
	var entries []page.Entry
	for _, s := range sections() {
		entries = append(entries, page.Entry{Name: s.name, Title: s.title, Compared: s.compared, Repeat: "make bench ONLY=" + s.name})
	}
	entries, err := page.Read(results, entries)
	if err != nil {
		return page.Page{}, err
	}
	return page.Make(entries)
}
