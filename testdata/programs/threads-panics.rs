// Rust: threads, channels, panics that are caught and one that is not.
//
// expect stdout: 4950 caught 8
// expect exit: 101
use std::sync::{mpsc, Arc, Mutex};
use std::{panic, thread};

fn deep(n: u32) -> u32 {
    let v = vec![n; 10];
    if n == 0 {
        panic!("deep");
    }
    deep(n - 1) + v[3]
}

fn main() {
    let (tx, rx) = mpsc::channel();
    let total = Arc::new(Mutex::new(0));
    let hs: Vec<_> = (0..4)
        .map(|t| {
            let (tx, total) = (tx.clone(), total.clone());
            thread::spawn(move || {
                for i in 0..25 {
                    tx.send(t * 25 + i).unwrap();
                    *total.lock().unwrap() += 1;
                }
            })
        })
        .collect();
    drop(tx);
    let sum: i32 = rx.iter().sum();
    for h in hs {
        h.join().unwrap();
    }
    panic::set_hook(Box::new(|_| {}));
    let caught = (0..8).filter(|_| panic::catch_unwind(|| deep(50)).is_err() && thread::spawn(|| deep(9)).join().is_err()).count();
    println!("{} caught {}", sum, caught);
    let v: Vec<i32> = vec![];
    let i = std::env::args().count();
    println!("{}", v[i]);
}
