// The kernels are compiled once for each instruction set, in a namespace of its name. The name is
// inline, so that code outside the kernels does not spell it.
#pragma once

#ifndef SOWREAP_ISA
#define SOWREAP_ISA baseline
#endif
