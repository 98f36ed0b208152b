// Rust names: modules, methods, generics.
mod outer {
    pub struct Thing(pub u32);
    impl Thing {
        #[inline(never)]
        pub fn turn(&self, by: u32) -> u32 { self.0.rotate_left(by) }
    }
    #[inline(never)]
    pub fn generic<T: Into<u64>>(x: T) -> u64 { x.into() * 3 }
}
fn main() {
    let n = std::env::args().count() as u32;
    println!("{}", outer::Thing(n).turn(3) as u64 + outer::generic(n) + outer::generic(n as u8));
}
