// Package backend is what the databases' logs do alike: fill the table names
// into their statements, find out that a lease was lost, and move a cursor
// together with further work.
package backend
