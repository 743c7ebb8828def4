package zzprobe
import ("testing";"fmt";"sync";"sync/atomic";"time";"context";"os";"github.com/millrace-go/millrace/internal/servicetest";"github.com/millrace-go/millrace/internal/mysqldb")
func TestView(t *testing.T){
 url:=servicetest.MariaDBURL(t)
 db,err:=mysqldb.Open(url); if err!=nil {t.Fatal(err)}; defer db.Close(); db.SetMaxOpenConns(100)
 for _,q:=range []string{"create table agg (k int primary key, v int not null)","create table noise (n int)","create table log (id bigint auto_increment primary key, k int not null, v int not null, key(k,v))"} { if _,err:=db.Exec(q);err!=nil{t.Fatal(err)} }
 const keys, writers = 4, 12
 for k:=range keys { db.Exec("insert into agg values (?,0)",k) }
 d:=20*time.Second; if s:=os.Getenv("D"); s!="" { d,_=time.ParseDuration(s) }
 ctx,cancel:=context.WithTimeout(context.Background(),d); defer cancel()
 var wg sync.WaitGroup; var commits, reads, bad atomic.Int64
 for w:=range writers { wg.Go(func(){ for i:=0; ctx.Err()==nil; i++ { k:=(w+i)%keys
   tx,err:=db.Begin(); if err!=nil {t.Error(err);return}
   // gets its id before waiting for the lock
   tx.Exec("insert into noise values (-1)")
   if _,err:=tx.Exec("update agg set v=v+1 where k=?",k); err!=nil { tx.Rollback(); continue}
   if _,err:=tx.Exec("insert into log (k,v) select k,v from agg where k=?",k); err!=nil { tx.Rollback(); continue}
   if i%20==0 { tx.Exec("delete from log where k=? and v < (select v-200 from agg where k=?)",k,k) }
   if err:=tx.Commit();err!=nil {t.Error(err)}; commits.Add(1)
 }})}
 // noise: many open rw transactions make the list longer
 for range 20 { wg.Go(func(){ for ctx.Err()==nil { tx,err:=db.Begin(); if err!=nil {return}; tx.Exec("insert into noise values (-2)"); select{case <-ctx.Done(): case <-time.After(20*time.Millisecond):}; tx.Rollback() }})}
 for range 3 { wg.Go(func(){ for ctx.Err()==nil {
   rows,err:=db.Query("select k,v from log where k>=0 order by k,v desc"); if err!=nil {t.Error(err);return}
   last:=map[int]int{}; n:=map[int]int{}
   for rows.Next(){ var k,v int; rows.Scan(&k,&v); if p,ok:=last[k]; ok && n[k]<100 { if v!=p-1 { bad.Add(1); if bad.Load()<5 { fmt.Println("gap: key",k,"sees",p,"then",v)} } }; last[k]=v; n[k]++ }
   rows.Close(); reads.Add(1)
 }})}
 wg.Wait(); fmt.Println("commits",commits.Load(),"reads",reads.Load(),"anomalies",bad.Load())
}
