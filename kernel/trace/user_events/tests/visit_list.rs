// SPDX-License-Identifier: GPL-2.0

//! Tests of the list whose members are visited once.

use kernel::prelude::*;

#[kunit_tests(user_events_visit_list)]
mod tests {
    use super::*;
    use crate::visit_list::{
        Member,
        Side,
        VisitList, //
    };
    use kernel::{
        list::{
            impl_list_arc_safe,
            impl_list_item,
            ListArc,
            ListLinks, //
        },
        sync::Arc, //
    };

    #[pin_data]
    struct Number {
        value: usize,
        side: Side,
        #[pin]
        links: ListLinks,
    }

    impl_list_arc_safe! {
        impl ListArcSafe<0> for Number { untracked; }
    }

    impl_list_item! {
        impl ListItem<0> for Number { using ListLinks { self.links }; }
    }

    impl Member for Number {
        fn side(&self) -> &Side {
            &self.side
        }
    }

    fn number(value: usize) -> Result<ListArc<Number>> {
        ListArc::pin_init(
            try_pin_init!(Number {
                value,
                side: Side::new(),
                links <- ListLinks::new(),
            }),
            GFP_KERNEL,
        )
    }

    /// Inserts the numbers from 0 to `count`.
    fn fill(list: &mut VisitList<Number>, count: usize) -> Result<KVec<Arc<Number>>> {
        let mut all = KVec::new();

        for value in 0..count {
            let member = number(value)?;

            all.push(member.clone_arc(), GFP_KERNEL)?;
            list.insert(member);
        }
        Ok(all)
    }

    fn remove(list: &mut VisitList<Number>, member: &Number) -> bool {
        // SAFETY: Each test has one list.
        unsafe { list.remove(member) }.is_some()
    }

    #[test]
    fn an_empty_list() {
        let mut list = VisitList::<Number>::new();

        for _ in 0..3 {
            assert!(list.next().is_none());
            list.begin();
            assert!(list.next().is_none());
        }
    }

    #[test]
    fn each_visit_sees_all_in_their_order() -> Result {
        let mut list = VisitList::new();
        let all = fill(&mut list, 10)?;

        assert!(all.iter().all(|member| !list.is_ahead(member)));
        for _ in 0..3 {
            list.begin();
            assert!(all.iter().all(|member| list.is_ahead(member)));
            for value in 0..10 {
                let next = list.next().ok_or(ENOENT)?;

                assert_eq!(next.value, value);
                // It stays the next one until it has been seen.
                assert!(Arc::ptr_eq(&next, &list.next().ok_or(ENOENT)?));
                assert!(list.is_ahead(&next));
                list.seen(&next);
                assert!(!list.is_ahead(&next));
            }
            assert!(list.next().is_none());
        }
        Ok(())
    }

    #[test]
    fn a_visit_does_not_see_those_that_join() -> Result {
        let mut list = VisitList::new();
        let mut count = 0;

        fill(&mut list, 5)?;
        list.begin();
        while let Some(next) = list.next() {
            // More join than are seen.
            fill(&mut list, 2)?;
            list.seen(&next);
            count += 1;
        }
        assert_eq!(count, 5);

        list.begin();
        while let Some(next) = list.next() {
            list.seen(&next);
            count += 1;
        }
        assert_eq!(count, 5 + 15);
        Ok(())
    }

    #[test]
    fn members_leave_during_a_visit() -> Result {
        let mut list = VisitList::new();
        let all = fill(&mut list, 6)?;
        let mut seen = KVec::new();

        assert!(remove(&mut list, &all[1]));
        list.begin();
        while let Some(next) = list.next() {
            seen.push(next.value, GFP_KERNEL)?;
            match next.value {
                // One that has been seen, and one ahead.
                2 => assert!(remove(&mut list, &all[0]) && remove(&mut list, &all[3])),
                // The one that is being seen.
                4 => assert!(remove(&mut list, &next)),
                _ => {}
            }
            list.seen(&next);
        }
        assert!(seen[..] == [0, 2, 4, 5]);

        for (i, member) in all.iter().enumerate() {
            assert_eq!(remove(&mut list, member), i == 2 || i == 5);
        }
        list.begin();
        assert!(list.next().is_none());
        Ok(())
    }

    #[test]
    fn a_member_joins_again_while_it_is_seen() -> Result {
        let mut list = VisitList::new();
        let all = fill(&mut list, 2)?;

        list.begin();
        let next = list.next().ok_or(ENOENT)?;
        // SAFETY: No other list exists.
        let member = unsafe { list.remove(&next) }.ok_or(ENOENT)?;
        list.insert(member);
        list.seen(&next);
        assert!(Arc::ptr_eq(&all[1], &list.next().ok_or(ENOENT)?));
        list.seen(&all[1]);
        assert!(list.next().is_none());
        Ok(())
    }
}
