// Whether two C functions are called alike: as many parameters, each handed over in the same way. Names and pointed-to
// types may differ, since our declarations have names of their own.
#pragma once

#include <type_traits>

namespace gradsync {

template <class A, class B>
constexpr bool same_value() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>) {
    return std::is_void_v<A> && std::is_void_v<B>;
  } else {
    return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
           std::is_class_v<A> == std::is_class_v<B> && std::is_floating_point_v<A> == std::is_floating_point_v<B>;
  }
}

template <class A, class B>
struct SameShape : std::false_type {};

template <class A, class... As, class B, class... Bs>
requires(sizeof...(As) == sizeof...(Bs)) struct SameShape<A (*)(As...), B (*)(Bs...)>
    : std::bool_constant<(same_value<A, B>() && ... && same_value<As, Bs>())> {
};

}  // namespace gradsync
