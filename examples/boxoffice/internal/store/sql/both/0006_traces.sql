-- +goose Up

-- The trace that the notifications of a position belong to, until they are sent live:
-- the sender continues it. Only positions whose trace is kept have a row.
CREATE TABLE notification_traces (
  position      BIGINT PRIMARY KEY,
  trace_context TEXT NOT NULL
);

-- +goose Down
DROP TABLE notification_traces;
