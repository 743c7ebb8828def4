-- One statement, so that the figures belong to one moment.
SELECT
  COUNT(*),
  COALESCE(SUM(status = 'APPROVED'), 0),
  COALESCE(SUM(status = 'DECLINED'), 0),
  COALESCE(SUM(status = 'PENDING'), 0),
  COALESCE(SUM(refunded_at > 0), 0),
  (SELECT COUNT(*) FROM (SELECT 1 FROM charges GROUP BY key HAVING COUNT(*) > 1)),
  (SELECT COUNT(*) FROM (SELECT 1 FROM charges
     WHERE status = 'APPROVED' AND refunded_at = 0 AND reference <> ''
     GROUP BY reference HAVING COUNT(*) > 1)),
  COALESCE(SUM(CASE WHEN status = 'APPROVED' THEN amount END), 0),
  COALESCE(SUM(CASE WHEN refunded_at > 0 THEN amount END), 0)
FROM charges
