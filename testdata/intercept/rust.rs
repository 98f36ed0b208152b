// Calls of Rust functions. What each call looks like stands above the function, in the order of the calls. What debug information does not tell is shown as ?:
// whether a record of one value is repr(C), and what a closure has caught.

#[derive(Debug, Clone, Copy)]
struct Metres(f64);
#[derive(Debug, Clone, Copy)]
struct Id(u32);
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Three {
    x: u64,
    y: u64,
    z: u64,
}
#[derive(Debug)]
enum Shape {
    Empty,
    Circle(f64),
    Rectangle { width: f64, height: f64 },
    Named(String),
}
#[derive(Debug)]
enum Level {
    Low = 1,
    High = 7,
}
struct Counter {
    n: u64,
    name: String,
}

/* VALUE: rust::metres(m=?, n=?) = ? */
#[inline(never)]
fn metres(m: Metres, n: u32) -> Metres {
    Metres(m.0 * n as f64)
}

/* VALUE: rust::id(i={__0=7}, n=8) = {__0=15} */
#[inline(never)]
fn id(i: Id, n: u32) -> Id {
    Id(i.0 + n)
}

/* VALUE: rust::pair(p=?, n=?) = 9 */
#[inline(never)]
fn pair(p: (Id, u32), n: u32) -> u32 {
    p.0 .0 + p.1 + n
}

/* VALUE: rust::three(t={x=1, y=2, z=3}, n=4) = {x=4, y=2, z=1} */
#[inline(never)]
fn three(t: Three, n: u64) -> Three {
    Three { x: n, y: t.y, z: t.x }
}

/* VALUE: three_c(t={x=1, y=2, z=3}, n=4) = 10 */
#[no_mangle]
#[inline(never)]
extern "C" fn three_c(t: Three, n: u64) -> u64 {
    t.x + t.y + t.z + n
}

/* VALUE: rust::text(a="one", b="", c="three") = "onethree" */
#[inline(never)]
fn text(a: &str, b: &'static str, c: String) -> String {
    a.to_string() + b + &c
}

/* VALUE: rust::double(v={data_ptr={1,2,3}, length=3}, by=2) = 3, v={data_ptr={2,4,6}, length=3} */
#[inline(never)]
fn double(v: &mut [u32], by: u32) -> usize {
    for x in v.iter_mut() {
        *x *= by;
    }
    v.len()
}

/* VALUE: rust::grow(v=&{ptr={1.5}, len=1}, x=2.5) returned, v=&{ptr={1.5,2.5}, len=2} */
#[inline(never)]
fn grow(v: &mut Vec<f64>, x: f64) {
    v.push(x);
}

/* VALUE: rust::find(v={data_ptr={5,6,7}, length=3}, x=6) = Some(1) */
/* VALUE: rust::find(v={data_ptr={5,6,7}, length=3}, x=8) = None */
#[inline(never)]
fn find(v: &[u8], x: u8) -> Option<usize> {
    v.iter().position(|y| *y == x)
}

/* VALUE: rust::parse(s="12") = Ok(12) */
/* VALUE: rust::parse(s="zwölf") = Err(Low) */
#[inline(never)]
fn parse(s: &str) -> Result<i64, Level> {
    s.parse().map_err(|_| if s.is_empty() { Level::High } else { Level::Low })
}

/* VALUE: rust::shape(s=Empty, scale=2) = 0 */
/* VALUE: rust::shape(s=Circle(0.5), scale=2) = 1 */
/* VALUE: rust::shape(s=Rectangle{width=2, height=3}, scale=2) = 12 */
#[inline(never)]
fn shape(s: Shape, scale: f64) -> f64 {
    scale * match s {
        Shape::Empty => 0.0,
        Shape::Circle(r) => r,
        Shape::Rectangle { width, height } => width * height,
        Shape::Named(n) => n.len() as f64,
    }
}

/* VALUE: rust::maybe(a=Some("x"), b=Some(&9), c=None) = 10 */
/* VALUE: rust::maybe(a=None, b=None, c=Some('c')) = 3 */
#[inline(never)]
fn maybe(a: Option<&str>, b: Option<Box<u32>>, c: Option<char>) -> u32 {
    a.map_or(0, |a| a.len() as u32) + b.map_or(0, |b| *b) + c.map_or(0, |_| 3)
}

/* VALUE: rust::overflow(a=250, b=7) = {__0=1, __1=true} */
#[inline(never)]
fn overflow(a: u8, b: u8) -> (u8, bool) {
    a.overflowing_add(b)
}

/* VALUE: rust::many(a=1, b=2, c=3, d=4, e=5, s="split", f=6, w=0x00000000000000000000000000000007) = 0x00000000000000000000000000000007 */
#[inline(never)]
fn many(a: u8, b: u8, c: u8, d: u8, e: u8, s: &str, f: u8, w: u128) -> u128 {
    drop((a, b, c, d, e, s, f));
    w
}

impl Counter {
    /* VALUE: rust::Counter::add(self=&{n=40, name="c"}, 2, {__0=1, __1=2}, by=2) = 42, self=&{n=42, name="c"} */
    #[inline(never)]
    fn add(&mut self, _: u32, (a, b): (u8, u8), by: u64) -> u64 {
        drop((a, b));
        self.n += by;
        self.n
    }
}

/* VALUE: rust::main::{{closure}}(x=?) = ? */

fn main() {
    metres(Metres(1.5), 2);
    id(Id(7), 8);
    pair((Id(2), 3), 4);
    let t = Three { x: 1, y: 2, z: 3 };
    three(t, 4);
    three_c(t, 4);
    text("one", "", "three".to_string());
    double(&mut [1, 2, 3], 2);
    grow(&mut vec![1.5], 2.5);
    find(&[5, 6, 7], 6);
    find(&[5, 6, 7], 8);
    drop((parse("12"), parse("zwölf"), Level::High));
    shape(Shape::Empty, 2.0);
    shape(Shape::Circle(0.5), 2.0);
    shape(Shape::Rectangle { width: 2.0, height: 3.0 }, 2.0);
    maybe(Some("x"), Some(Box::new(9)), None);
    maybe(None, None, Some('c'));
    overflow(250, 7);
    many(1, 2, 3, 4, 5, "split", 6, 7);
    Counter { n: 40, name: "c".to_string() }.add(2, (1, 2), 2);
    let caught = Shape::Named("x".to_string());
    let closure = |x: u32| x as f64 + if let Shape::Named(n) = &caught { n.len() as f64 } else { 0.0 };
    closure(1);
}
