// SPDX-License-Identifier: GPL-2.0

#include <linux/irq_work.h>

__rust_helper void rust_helper_init_irq_work(struct irq_work *work,
					     void (*func)(struct irq_work *))
{
	init_irq_work(work, func);
}
