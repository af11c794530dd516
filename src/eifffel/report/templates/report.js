"use strict";
(async () => {
  const views = {};
  for (const [name, spec] of Object.entries(charts)) {
    const result = await vegaEmbed("#chart-" + name, spec, { actions: false, renderer: "svg", ast: false });
    views[name] = result.view;
  }
  if (slider) {
    const input = document.getElementById("bound");
    const show = () => {
      const bound = slider.bounds[Number(input.value)];
      const cells = slider.points[bound.point];
      for (const element of document.querySelectorAll("[data-cell]")) {
        element.textContent = cells[element.dataset.cell];
      }
      document.getElementById("bound-text").textContent = bound.text;
      document.getElementById("bound-met").textContent = bound.met ? "met" : "NOT MET";
      input.setAttribute("aria-valuetext", bound.text);
      views.tradeoff.signal("chosen", bound.point).signal("bound", bound.bound).runAsync();
    };
    input.addEventListener("input", show);
    document.getElementById("reset").addEventListener("click", () => {
      input.value = slider.start;
      show();
    });
  }
  document.body.dataset.ready = "true";
})();
