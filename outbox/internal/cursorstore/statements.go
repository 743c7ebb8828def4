package cursorstore

import (
	"fmt"
	"io/fs"
)

// statements is the text of each statement in the store's dialect.
type statements struct {
	asideKeys, asideRead, held                      string
	retryPut, retryFail, retryDelete, retriesCount  string
	failedPut, failedList, failedTake, failedDelete string
	failedCount, owner, cursorExists, failing       string
}

func (s *statements) load(files fs.FS) error {
	for name, into := range map[string]*string{
		"aside_keys": &s.asideKeys, "aside_read": &s.asideRead, "held": &s.held,
		"retry_put": &s.retryPut, "retry_fail": &s.retryFail, "retry_delete": &s.retryDelete,
		"retries_count": &s.retriesCount, "failed_put": &s.failedPut, "failed_list": &s.failedList,
		"failed_take": &s.failedTake, "failed_delete": &s.failedDelete, "failed_count": &s.failedCount, "holders": &s.owner,
		"cursor_exists": &s.cursorExists, "failing": &s.failing,
	} {
		text, err := fs.ReadFile(files, name+".sql")
		if err != nil {
			return fmt.Errorf("outbox: statements: %w", err)
		}
		*into = string(text)
	}
	return nil
}
