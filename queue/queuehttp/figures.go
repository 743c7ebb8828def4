package queuehttp

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/millrace-go/millrace/queue"
)

// csv answers an operator with the event's figures by minute, as CSV: those of
// [queue.Minute], times in seconds. A stock that is not known is empty.
func (h *Handlers) csv(w http.ResponseWriter, r *http.Request) error {
	minutes, _, err := h.figures(r)
	if err != nil {
		return err
	}
	b := []byte("minute,joined,admitted,turned_up,finished,gone,waiting,active,timed,median_s,p95_s,laned,returned,returning,stock\n")
	for _, m := range minutes {
		b = append(b, m.Start.Format("2006-01-02T15:04Z")...)
		for _, n := range [...]int64{m.Joined, m.Admitted, m.TurnedUp, m.Finished, m.Gone, int64(m.Waiting), int64(m.Active), m.Timed} {
			b = strconv.AppendInt(append(b, ','), n, 10)
		}
		b = fmt.Appendf(b, ",%.1f,%.1f,%d,%d,%d,", m.Median.Seconds(), m.P95.Seconds(), m.Laned, m.Returned, m.Returning)
		if m.Stock >= 0 {
			b = strconv.AppendInt(b, int64(m.Stock), 10)
		}
		b = append(b, '\n')
	}
	w.Header().Set("Content-Disposition", `attachment; filename="figures.csv"`)
	write(w, http.StatusOK, "text/csv; charset=utf-8", b)
	return nil
}

// plot answers an operator with a page that plots the figures. It has no script: load it
// again for newer ones.
func (h *Handlers) plot(w http.ResponseWriter, r *http.Request) error {
	minutes, event, err := h.figures(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", plotPolicy)
	write(w, http.StatusOK, "text/html; charset=utf-8", plotPage(event, minutes))
	return nil
}

func (h *Handlers) figures(r *http.Request) (minutes []queue.Minute, event string, err error) {
	if event, err = h.knownEvent(r); err == nil {
		minutes, err = h.room.Figures(r.Context(), event)
	}
	return minutes, event, err
}
