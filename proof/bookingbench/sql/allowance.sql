-- $1 member, $2 show; returns how many seats the member may hold and buy, holds, and has bought
SELECT s.max_held, s.max_bought,
       (SELECT COUNT(CASE r.status WHEN 'PENDING' THEN 1 END)
        FROM reservations r JOIN reservation_seats t ON t.reservation_id = r.reservation_id
        WHERE r.member_id = $1 AND r.show_id = $2),
       (SELECT COUNT(*) FROM payments p
               JOIN reservations r ON r.reservation_id = p.reference_id AND r.payment_id = p.payment_id
               JOIN reservation_seats t ON t.reservation_id = r.reservation_id
        WHERE p.member_id = $1 AND p.status IN ('SUCCESS', 'REFUNDED')
          AND r.show_id = $2 AND r.status = 'CONFIRMED')
FROM shows s WHERE s.show_id = $2
